import { expect, test } from 'vitest'
import { formatTrace } from '#bin/commands/trace.ts'
import type { TraceStep } from '#lib/dashboard/schema.ts'

const BEGIN = Date.parse('2026-11-28T12:00:00.000Z')

function makeStep(afterMs: number, step: Partial<TraceStep>): TraceStep {
  const at = new Date(BEGIN + afterMs).toISOString()
  const empty = { name: null, outcome: null, duration_ms: null, request_id: null, trace_id: null }
  return { what: 'request', at, id: 'id', ...empty, ...step }
}

function formatWaits(steps: TraceStep[]): (string | undefined)[] {
  const subject = { kind: 'withdrawal', id: 'w-1' } as const
  const [, ...lines] = formatTrace({ account_id: 'a-1', mode: 'live', subject, steps }).split('\n')
  return lines
    .filter(line => / {2}wait {2}/.test(line))
    .map(line => line.split(/ {2,}/).slice(1).join('  '))
}

const ORDERED = [
  makeStep(0, { name: 'POST /withdrawals', outcome: '200', duration_ms: 9 }),
  makeStep(4, { what: 'withdrawal', outcome: 'approved' }),
]

test('a slow withdrawal names each wait with its length: to be sent, for the bank and its result', () => {
  const steps = [
    ...ORDERED,
    makeStep(184_009, { what: 'bank_call', name: 'send', outcome: 'timeout', duration_ms: 26 }),
    makeStep(190_035, { what: 'bank_call', name: 'query', outcome: 'pending', duration_ms: 5 }),
    makeStep(200_040, { what: 'event', name: 'withdrawal.approved' }),
    makeStep(200_050, { what: 'attempt', name: 'x.example #1', outcome: '500', duration_ms: 10 }),
    makeStep(205_060, { what: 'attempt', name: 'x.example #2', outcome: '200', duration_ms: 10 }),
  ]
  expect(formatWaits(steps)).toEqual([
    '+0.009 s  wait  to be sent: a slot among payouts, money at the bank, or a bank that rests  184000 ms',
    '+184.035 s  wait  for the bank, after timeout  6000 ms',
    "+190.040 s  wait  for the bank's result  10000 ms",
    '+200.060 s  wait  for the next attempt, after 500  5000 ms',
  ])
})

test('one that a member approves waits for the approval, and a fast one for nothing', () => {
  const approval = makeStep(60_000, {
    name: 'POST /withdrawals/w-1/approve',
    outcome: '200',
    duration_ms: 8,
  })
  const send = makeStep(60_100, { what: 'bank_call', name: 'send', outcome: 'ok', duration_ms: 26 })
  expect(formatWaits([...ORDERED, approval, send])).toEqual([
    '+0.009 s  wait  for an approval  59991 ms',
  ])
  expect(formatWaits([...ORDERED, { ...send, at: new Date(BEGIN + 100).toISOString() }])).toEqual(
    [],
  )
})
