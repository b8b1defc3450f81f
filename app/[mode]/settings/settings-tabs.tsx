import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Sheet } from '#components/ui/sheet.tsx'
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

interface SectionProps {
  title: string
  text: string
  children: ReactNode
}

export function TitledSection({ title, text, children }: SectionProps) {
  return (
    <section className="grid grid-cols-[minmax(0,1fr)] gap-x-10 gap-y-3 border-line py-7 not-first:border-t first:pt-2 lg:grid-cols-[260px_minmax(0,1fr)]">
      <div>
        <h2 className="text-title">{title}</h2>
        <p className="mt-1 max-w-[56ch] text-muted text-small">{text}</p>
      </div>
      <Sheet className="px-4 py-5 md:px-6 md:py-6">{children}</Sheet>
    </section>
  )
}
