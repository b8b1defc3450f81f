import { useTranslations } from 'next-intl'
import { Tabs } from '#components/ui/tabs.tsx'
import type { Mode } from '#lib/mode.ts'

/** The settings of an account, and its tokens, which are a part of them. */
export function SettingsTabs({ mode, current }: { mode: Mode; current: 'general' | 'tokens' }) {
  const t = useTranslations('settings')
  const at = `/${mode}/settings`
  const tabs = [
    { href: at, label: t('tab.general'), isCurrent: current === 'general' },
    { href: `${at}/tokens`, label: t('tab.tokens'), isCurrent: current === 'tokens' },
  ]
  return (
    <div className="mb-4">
      <Tabs label={t('tab.label')} tabs={tabs} />
    </div>
  )
}
