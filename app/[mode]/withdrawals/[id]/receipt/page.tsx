import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getLocale, getTranslations } from 'next-intl/server'
import { ReceiptPage } from '#components/receipt/receipt-page.tsx'
import { isTrocoError } from '#lib/core/errors.ts'
import { readReceipt } from '#lib/dashboard/receipt.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('receipt'))('title') }
}

interface WithdrawalReceiptPageProps {
  params: Promise<{ mode: string; id: string }>
}

export default async function WithdrawalReceiptPage({ params }: WithdrawalReceiptPageProps) {
  const { account, mode, user } = await requireMember(params)
  const [{ id: segment }, locale, t] = await Promise.all([params, getLocale(), getTranslations()])
  const id = hideFromViewer(user, decodeURIComponent(segment))
  const request = { account, mode, kind: 'withdrawal', id, userId: user.id, locale } as const
  const sheet = await readReceipt(request).catch(error => {
    if (isTrocoError(error)) return notFound()
    throw error
  })
  const parent = { href: `/${mode}/withdrawals/${sheet.id}`, label: t('withdrawals.one') }
  return (
    <ReceiptPage
      sheet={hideFromViewer(user, sheet)}
      parent={parent}
      pdfPath="/dashboard/withdrawals/[id]/receipt"
    />
  )
}
