import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { Bank, OpenCharges } from '#app/[mode]/bank/bank.tsx'
import { Controls } from '#app/[mode]/bank/controls.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { chargeQueries } from '#components/queries/charges.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { findCharge, listChargeRows } from '#lib/charges/list.ts'
import { readChargeCode, readCode } from '#lib/dashboard/bank.ts'
import type { BankReading, SearchParams } from '#lib/dashboard/schema.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'

const PENDING_CHARGES_MAX = 8

interface BankPageProps {
  params: Promise<{ mode: string }>
  searchParams: Promise<SearchParams>
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('bank'))('title') }
}

/** A simulated bank for test mode, where merchants pay their own charges. */
export default async function BankPage({ params, searchParams }: BankPageProps) {
  const { user, account, mode } = await requireMember(params)
  if (mode !== 'test') notFound()
  const { code, charge } = hideFromViewer(user, await searchParams)
  const [t, reading, openCharges] = await Promise.all([
    getTranslations('bank'),
    readRequestedCharge(account.id, code, charge),
    listChargeRows(account.id, 'test', { status: 'pending', limit: PENDING_CHARGES_MAX }),
  ])
  const pasted = typeof code === 'string' ? code : ''
  return (
    <>
      <PageHead title={t('title')} />
      <p className="-mt-3 mb-6 max-w-[62ch] text-muted md:-mt-4">{t('about')}</p>
      <ClientMessages namespaces={['bank', 'chargeStatus', 'controls']}>
        <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-[minmax(0,30rem)_minmax(0,1fr)] xl:gap-8">
          <Bank
            key={reading?.charge?.id ?? pasted}
            reading={hideFromViewer(user, reading)}
            code={pasted}
          />
          <Prefetched
            seeds={[
              seed(chargeQueries.pending(readerFor(mode, user, account), PENDING_CHARGES_MAX), {
                data: hideFromViewer(user, openCharges.rows),
                next_cursor: openCharges.nextCursor,
              }),
            ]}
          >
            <OpenCharges limit={PENDING_CHARGES_MAX} chosenId={reading?.charge?.id} />
          </Prefetched>
        </div>
        <div className="mt-6 xl:mt-8">
          <Controls />
        </div>
      </ClientMessages>
    </>
  )
}

async function readRequestedCharge(
  accountId: string,
  code: SearchParams[string],
  charge: SearchParams[string],
): Promise<BankReading | null> {
  if (typeof charge === 'string') {
    const found = await findCharge(accountId, 'test', charge)
    return found ? readChargeCode(found) : notFound()
  }
  return typeof code === 'string' && code !== '' ? readCode(accountId, code) : null
}
