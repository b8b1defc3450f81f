import { useTranslations } from 'next-intl'
import { Tabs } from '#components/ui/tabs.tsx'
import type { Mode } from '#lib/core/mode.ts'

interface SettingsTabsProps {
  mode: Mode
  current: 'general' | 'members' | 'tokens' | 'security' | 'audit'
}

export function SettingsTabs({ mode, current }: SettingsTabsProps) {
  const t = useTranslations('settings')
  const basePath = `/${mode}/settings`
  const tabs = [
    { href: basePath, label: t('tab.general'), isCurrent: current === 'general' },
    { href: `${basePath}/members`, label: t('tab.members'), isCurrent: current === 'members' },
    { href: `${basePath}/tokens`, label: t('tab.tokens'), isCurrent: current === 'tokens' },
    { href: `${basePath}/security`, label: t('tab.security'), isCurrent: current === 'security' },
    {
      href: `${basePath}/audit`,
      label: t('tab.audit'),
      isCurrent: current === 'audit',
      onlyFor: 'audit:read' as const,
    },
  ]
  return (
    <div className="mb-4">
      <Tabs label={t('tab.label')} tabs={tabs} />
    </div>
  )
}
