import { getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import type { Mode } from '#lib/core/mode.ts'

const KINDS = ['charges', 'withdrawals'] as const

interface PaymentsFrameProps {
  account: { id: string; name: string }
  kind: (typeof KINDS)[number]
  mode: Mode
  children: ReactNode
}

/** The frame of the two pages of an account's payments. */
export async function PaymentsFrame({ account, kind, mode, children }: PaymentsFrameProps) {
  const t = await getTranslations('adminPayments')
  const tabs = KINDS.map(name => ({
    href: `/admin/accounts/${account.id}/${name}?mode=${mode}`,
    label: t(name),
    isCurrent: name === kind,
  }))
  return (
    <ClientMessages namespaces={['adminPayments', 'chargeStatus', 'withdrawalStatus']}>
      <PageHead
        title={t(kind)}
        parent={{ href: `/admin/accounts/${account.id}`, label: account.name }}
      />
      <div className="mb-4">
        <Tabs label={t('label')} tabs={tabs} />
      </div>
      {children}
    </ClientMessages>
  )
}
