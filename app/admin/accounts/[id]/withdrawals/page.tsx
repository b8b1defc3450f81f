import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { PaymentList } from '#app/admin/accounts/[id]/payment-list.tsx'
import { PaymentsFrame } from '#app/admin/accounts/[id]/payments-frame.tsx'
import { findAccountName } from '#lib/accounts/queries.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { listMaskedWithdrawals } from '#lib/operator/payments.ts'
import { requireAdmin } from '#lib/session/gate.ts'

interface WithdrawalsPageProps {
  params: Promise<{ id: string }>
  searchParams: Promise<SearchParams>
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('adminPayments'))('withdrawals') }
}

export default async function WithdrawalsPage({ params, searchParams }: WithdrawalsPageProps) {
  await requireAdmin()
  const { id } = await params
  const name = isUuid(id) ? await findAccountName(id) : null
  if (name === null) return notFound()
  const page = await listMaskedWithdrawals(id, await searchParams)
  return (
    <PaymentsFrame account={{ id, name }} kind="withdrawals" mode={page.mode}>
      <PaymentList kind="withdrawals" accountId={id} {...page} />
    </PaymentsFrame>
  )
}
