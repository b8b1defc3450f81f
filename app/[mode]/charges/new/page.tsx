import type { Metadata } from 'next'
import { redirect } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { NewChargeForm } from '#app/[mode]/charges/new/new-form.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { connectionIn } from '#lib/banks/served.ts'
import { requirePermission } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('newCharge'))('title') }
}

export default async function NewChargePage({ params }: { params: Promise<{ mode: string }> }) {
  const { account, mode } = await requirePermission(params, 'charges/new')
  if (!connectionIn(mode, account.receivingConnectionId)) redirect(`/${mode}/charges`)
  const t = await getTranslations()
  const parent = { href: `/${mode}/charges`, label: t('nav.place.charges') }
  return (
    <>
      <PageHead title={t('newCharge.title')} parent={parent} />
      <p className="-mt-4 mb-5 max-w-[60ch] text-muted">{t('newCharge.text')}</p>
      <ClientMessages namespaces={['newCharge']}>
        <NewChargeForm expiresIn={account.expiresIn} reviewAbove={account.chargeReviewAbove} />
      </ClientMessages>
    </>
  )
}
