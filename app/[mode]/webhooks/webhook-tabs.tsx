'use client'

import { useTranslations } from 'next-intl'
import { useApi } from '#components/api/use-api.ts'
import { Tabs } from '#components/ui/tabs.tsx'

export function WebhookTabs({ current }: { current: 'deliveries' | 'endpoints' }) {
  const t = useTranslations('webhooks')
  const { mode } = useApi().scope
  const tabs = [
    { name: 'deliveries', href: `/${mode}/webhooks` },
    { name: 'endpoints', href: `/${mode}/webhooks/endpoints` },
  ] as const
  return (
    <Tabs
      label={t('title')}
      tabs={tabs.map(({ name, href }) => ({
        href,
        label: t(`tab.${name}`),
        isCurrent: name === current,
      }))}
    />
  )
}
