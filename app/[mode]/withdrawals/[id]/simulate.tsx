'use client'

import { useTranslations } from 'next-intl'
import { type Decision, SimulatedBank } from '#components/sandbox/simulated-bank.tsx'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

interface SimulateWithdrawalProps {
  withdrawal: WithdrawalRow
  onDecided: () => Promise<unknown>
}

/** What the simulated bank can decide about a withdrawal. */
export function SimulateWithdrawal({ withdrawal, onDecided }: SimulateWithdrawalProps) {
  const t = useTranslations('simulate')
  const { id, pix_key } = withdrawal
  const decisions = listDecisions(withdrawal)
  const groups = decisions.length > 0 ? [{ id, decisions }] : []
  const hint = pix_key.toLowerCase().startsWith('hold@') ? null : t('withdrawalHint')
  return <SimulatedBank hint={hint} groups={groups} onDecided={onDecided} />
}

function listDecisions(withdrawal: WithdrawalRow): Decision[] {
  const { id, status, awaiting, amount, returned_amount } = withdrawal
  const path = `/sandbox/withdrawals/${id}`
  const left = amount - returned_amount
  if (status === 'approved' && left > 0)
    return [
      {
        name: 'return',
        path,
        outcome: 'returned',
        event: 'withdrawal.returned',
        asks: { amountMax: left },
      },
    ]
  if (status !== 'pending' || awaiting === 'approval') return []
  return [
    { name: 'approve', path, outcome: 'approved', event: 'withdrawal.approved' },
    {
      name: 'refuse',
      path,
      outcome: 'rejected',
      event: 'withdrawal.rejected',
      asks: 'reason',
    },
  ]
}
