'use client'

import { usePathname } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { Tabs } from '#components/ui/tabs.tsx'

const TAB_NAMES = [
  'accounts',
  'banks',
  'reconciliation',
  'disputes',
  'people',
  'tokens',
  'audit',
  'trace',
  'health',
] as const

export function AdminTabs() {
  const t = useTranslations('adminTabs')
  const path = usePathname()
  const pages = TAB_NAMES.map(name => {
    const href = `/admin/${name}`
    return { href, label: t(name), isCurrent: path === href || path.startsWith(`${href}/`) }
  })
  const overview = { href: '/admin', label: t('overview'), isCurrent: path === '/admin' }
  return (
    <div className="mb-6">
      <Tabs label={t('label')} tabs={[overview, ...pages]} />
    </div>
  )
}
