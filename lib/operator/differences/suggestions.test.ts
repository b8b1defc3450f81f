import { expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { DIFFERENCE_KINDS } from '#lib/differences/differences.ts'
import { allowedEntries } from '#lib/differences/states.ts'
import { suggestEntry } from '#lib/operator/differences/evidence.ts'
import type { Candidate, DifferenceEvidence } from '#lib/operator/differences/schema.ts'

const account = { id: newId(), name: 'Padaria' }
const at = '2026-11-21T12:00:00.000000Z'
const charge = {
  id: newId(),
  account,
  status: 'paid' as const,
  amount: 500,
  refunded_amount: 0,
  created_at: at,
  paid_at: at,
  cancelled_at: null,
  payer: '***',
  end_to_end_id: null,
}
const makeCandidate = (isSamePayer: boolean): Candidate => ({
  id: newId(),
  account,
  status: 'pending',
  amount: 500,
  created_at: at,
  payer: '***',
  is_same_payer: isSamePayer,
})
const NOTHING = { account: null, charge: null, candidates: [], returns: [] }
const rejected = {
  id: newId(),
  status: 'rejected' as const,
  attempts: 1,
  created_at: at,
  return_id: null,
  rejection_reason: 'Refused',
  bank_text: null,
}

function suggest(kind: string, known: Partial<DifferenceEvidence> = {}) {
  const suggestion = suggestEntry(kind, allowedEntries(kind), { ...NOTHING, ...known })
  expect(allowedEntries(kind)).toContain(suggestion.entry)
  return [suggestion.entry, suggestion.why]
}

test('an entry that its kind allows is suggested for every kind, also for an unknown one', () => {
  for (const kind of [...DIFFERENCE_KINDS, 'day_balance', 'constructor', ''])
    for (const known of [{}, { account, charge }, { returns: [rejected] }]) suggest(kind, known)
  expect(suggest('of_a_later_version')).toEqual(['acknowledge', 'nothing_held'])
})

test('the only charge that fits is suggested; of the same payer, if the payment named a charge', () => {
  const [same, other] = [makeCandidate(true), makeCandidate(false)]
  expect(suggest('payment_unmatched', { candidates: [other] })).toEqual(['match', 'one_candidate'])
  const two = { candidates: [other, makeCandidate(false)] }
  expect(suggest('payment_unmatched', two)).toEqual(['give_back', 'nobody'])
  const repeated = (candidates: Candidate[]) =>
    suggest('payment_repeated', { account, charge, candidates })
  expect(repeated([same, other])).toEqual(['match', 'one_candidate'])
  expect(repeated([other])).toEqual(['give_back', 'paid_twice'])
  expect(suggest('payment_amount', { account, charge })).toEqual(['give_back', 'other_amount'])
})

test('after the bank refused to give it back, somebody else gets the money', () => {
  const returns = [rejected]
  expect(suggest('payment_amount', { account, charge, returns })).toEqual([
    'credit',
    'bank_refused',
  ])
  expect(suggest('payment_unmatched', { returns })).toEqual(['keep', 'bank_refused'])
})

test('a payment that is too old to be given back goes to the account of its charge, or is kept', () => {
  const late = (known: Partial<DifferenceEvidence>) =>
    suggestEntry('payment_unmatched', ['credit', 'match', 'keep'], { ...NOTHING, ...known })
  expect(late({ account, charge })).toMatchObject({
    entry: 'credit',
    why: 'too_late',
    account_id: account.id,
  })
  expect(late({})).toMatchObject({ entry: 'keep', why: 'too_late' })
  expect(late({ candidates: [makeCandidate(true)] })).toMatchObject({ entry: 'match' })
})

test('what came back of a payout is kept', () => {
  expect(suggest('return_unmatched')).toEqual(['keep', 'own_payout'])
  expect(suggest('return_above_payout', { account })).toEqual(['keep', 'above_payout'])
})
