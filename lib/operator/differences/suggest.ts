import type { Entry } from '#lib/differences/states.ts'
import type {
  DifferenceDetail,
  DifferenceEvidence,
  Suggestion,
} from '#lib/operator/differences/schema.ts'

type Known = Pick<DifferenceEvidence, 'account' | 'charge' | 'candidates' | 'returns'>

/**
 * Suggests how to settle an item: the only charge that fits the payment, else giving it back. What came
 * back of a payout has no payer: it is the operator's. A person decides.
 */
export function suggestEntry(
  kind: DifferenceDetail['kind'],
  entries: readonly Entry[],
  { account, charge, candidates, returns }: Known,
): Suggestion {
  const suggest = (
    entry: Entry,
    why: Suggestion['why'],
    target: Partial<Suggestion> = {},
  ): Suggestion => ({ entry, why, account_id: null, transaction_id: null, ...target })
  if (!entries.includes('keep')) return suggest('acknowledge', 'nothing_held')
  if (kind === 'return_unmatched') return suggest('keep', 'own_payout')
  if (kind === 'return_above_payout') return suggest('keep', 'above_payout')
  // Without a charge that names the payer, amount and time are all that is known.
  const [fitting, ...others] = charge
    ? candidates.filter(candidate => candidate.is_same_payer)
    : candidates
  if (fitting && others.length === 0)
    return suggest('match', 'one_candidate', {
      account_id: account?.id ?? null,
      transaction_id: fitting.id,
    })
  const target = { account_id: account?.id ?? null }
  if (returns.some(({ status }) => status === 'rejected'))
    return suggest(account ? 'credit' : 'keep', 'bank_refused', target)
  if (!entries.includes('give_back'))
    return suggest(account ? 'credit' : 'keep', 'too_late', target)
  if (!charge) return suggest('give_back', 'nobody')
  return suggest('give_back', kind === 'payment_amount' ? 'other_amount' : 'paid_twice', target)
}
