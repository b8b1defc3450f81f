import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeProblems } from '#e2e/fuzz/report.ts'
import { type FuzzPlan, FuzzRun } from '#e2e/fuzz/run.ts'
import { formatSecondsSince, recordFigures } from '#e2e/torture/figures.ts'
import { disconnect } from '#lib/db/client.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'
import { findLeak } from '#lib/testing/log-search.ts'

// The health page logs connections that other tests leave without credentials.
inOwnDatabase()

const { FUZZ_SEED = '1', FUZZ_REQUESTS = '300', FUZZ_ONLY } = process.env
/** Routes that need a secret, a certain user or a second owner: no random request succeeds. */
const UNREACHABLE_ROUTES =
  /\/(visitor|person|admin)\/|\/members\/leave$|\/approval\/confirm$|\/withdrawals\/\[id\]\/(approve|decline)$/
const BYTES_PER_MB = 1024 * 1024
const WARM_UP_REQUESTS_MIN = 1_000
const WARM_UP_REQUESTS_MAX = 5_000
const MEMORY_GROWTH_MAX = 0.1
/** With fewer requests, route coverage and memory growth are not significant. */
const REQUESTS_FOR_COVERAGE = 50_000

const requestCount = Number(FUZZ_REQUESTS)
const plan: FuzzPlan = {
  seeds: FUZZ_SEED.split(',').map(Number),
  requests: requestCount,
  warmUp: Math.min(
    WARM_UP_REQUESTS_MAX,
    Math.max(WARM_UP_REQUESTS_MIN, Math.floor(requestCount / 5)),
  ),
  only: FUZZ_ONLY ? Number(FUZZ_ONLY) : undefined,
}

let run: FuzzRun
beforeAll(async () => {
  run = await FuzzRun.start()
})
afterAll(async () => {
  await run?.api.close()
  await disconnect()
})

test(`${requestCount} hostile requests with seed ${FUZZ_SEED}: valid responses, no error, leak or hang`, async () => {
  const began = Date.now()
  const { before, after } = await run.send(plan)
  const counts = [...run.statuses].sort().map(([status, count]) => `${status}: ${count}`)
  const growth = (after - before) / before
  recordFigures('fuzz', {
    seeds: FUZZ_SEED,
    answers: counts.join(', '),
    memory: `${(before / BYTES_PER_MB).toFixed(1)} MB, then ${(after / BYTES_PER_MB).toFixed(1)} MB`,
    slowest: `${Math.round(run.slowestMs)} ms`,
    took: formatSecondsSince(began),
  })
  expect(describeProblems(run)).toBe('')
  expect(run.api.output()).toBe('')
  expect(findLeak(run.api.readLog())).toBeNull()
  if (requestCount < REQUESTS_FOR_COVERAGE || plan.only !== undefined) return
  expect(
    [...run.sentRoutes].filter(
      route => !run.successfulRoutes.has(route) && !UNREACHABLE_ROUTES.test(route),
    ),
    'never responded with 200',
  ).toEqual([])
  expect(growth).toBeLessThan(MEMORY_GROWTH_MAX)
}, 1_800_000)

test('afterwards the server still responds and the ledger balances', async () => {
  const { token, accounts } = run.world
  const headers = { authorization: `Bearer ${token}` }
  const account = await fetch(`${run.api.url}/api/account`, { headers })
  expect([account.status, await account.json()]).toEqual([
    200,
    // The fuzzer renames the account.
    { name: expect.stringMatching(/./), balance: expect.any(Number) },
  ])
  expect((await fetch(`${run.api.url}/api/account`)).status).toBe(401)
  for (const id of accounts) await expectBalancedLedger(id)
})
