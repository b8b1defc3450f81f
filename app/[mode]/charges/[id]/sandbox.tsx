'use client'

import { Landmark } from 'lucide-react'
import dynamic from 'next/dynamic'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'

const SimulateCharge = dynamic(() =>
  import('#app/[mode]/charges/[id]/simulate.tsx').then(module => module.SimulateCharge),
)

/** What the simulated bank can decide about a paid charge in test mode. */
export function ChargeSandbox() {
  const { mode, status } = useLiveCharge().timeline.charge
  if (mode !== 'test' || status !== 'paid') return null
  return (
    <IfAllowed permission="transactions:write">
      <SimulateCharge />
    </IfAllowed>
  )
}

/** Leads to the simulated bank, which can also pay a charge that has ended. */
export function BankLink() {
  const t = useTranslations('charge')
  const { mode, id } = useLiveCharge().timeline.charge
  if (mode !== 'test') return null
  return (
    <Link
      href={`/test/bank?charge=${id}`}
      prefetch={false}
      className="mt-3.5 flex min-h-10 w-full items-center justify-center gap-2 rounded-control border border-line2 border-dashed font-medium text-small text-test hover:bg-sunk"
    >
      <Landmark size={16} aria-hidden />
      {t('bank')}
    </Link>
  )
}
