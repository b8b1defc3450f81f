import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listMigrations, migrate } from '#lib/base/db/migrate.ts'
import { newId } from '#lib/base/ids.ts'
import { formatReason, type ReasonParams } from '#lib/base/reason.ts'
import { REJECTION_CODES, REJECTIONS } from '#lib/services/gateway/rejection.ts'
import { SIMULATOR_REASONS } from '#lib/services/gateway/simulator.ts'
import { DISABLED_CODES, DISABLED_REASONS } from '#lib/services/webhooks/disabled.ts'
import { PROBLEM_CODES, PROBLEMS } from '#lib/services/webhooks/problem.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'

/** The first migration with reason codes. */
const CODES_MIGRATION = '20261122030000'
const SAMPLE_PARAMS: ReasonParams = {
  ...{ status: 503, seconds: 0.3, port: 5432, name: 'shop.example' },
  ...{ address: '10.0.0.1', range: 'link-local', text: 'The moon was full\nthat night' },
}
/** Texts not written by Troco that begin or end like Troco's sentences. */
const FOREIGN_TEXTS = [
  'The receiver answered 500',
  'The receiver answered : a webhook is received with a status from 200 to 299',
  'The receiver did not answer within a day s',
  'The address of the moon is private: webhooks go to public addresses only',
  'interrupted',
  '',
]
/** Sentences as rows stored them before codes existed, where today's differ. */
const OLD_PROBLEMS = {
  ...PROBLEMS,
  name_unknown: 'The name {name} could not be found: check its spelling and its DNS',
}
const ACCOUNT = newId()

interface Stored {
  code: string
  params: ReasonParams
  text: string
}

/** Fills every sentence with sample values, as rows stored it before codes existed. */
function samplesOf(sentences: Record<string, string>): Stored[] {
  const ownSentences = Object.entries(sentences).map(([code, sentence]) => {
    const names = [...sentence.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
    const params = Object.fromEntries(names.map(name => [name, SAMPLE_PARAMS[name] ?? '']))
    return { code, params, text: formatReason(sentences, { code, params }) }
  })
  return [
    ...ownSentences,
    ...FOREIGN_TEXTS.map(text => ({ code: 'other', params: { text }, text })),
  ]
}

let url: string
let folder: string
beforeAll(async () => {
  url = await makeDatabase({ migrated: false })
  folder = mkdtempSync(join(tmpdir(), 'troco-migrations-'))
  for (const name of listMigrations().filter(name => name < CODES_MIGRATION)) {
    cpSync(join('prisma/migrations', name), join(folder, name), { recursive: true })
  }
  await migrate(url, { folder })
})
afterAll(() => rmSync(folder, { recursive: true }))

const FOREIGN_KEYS = {
  delivery_attempts: 'delivery_attempts_account_id_delivery_id_fkey',
  refunds: 'refunds_account_id_charge_id_fkey',
  withdrawals: 'withdrawals_account_id_fkey',
  webhook_endpoints: 'webhook_endpoints_account_id_fkey',
}

/** Inserts a row for each sentence. Drops the foreign key, so that the rows need no parent rows. */
function insertAll(
  table: keyof typeof FOREIGN_KEYS,
  columns: string,
  values: string,
  rows: Pick<Stored, 'text'>[],
) {
  const texts = JSON.stringify(rows.map(({ text }, index) => ({ nth: index, text, id: newId() })))
  return query(
    url,
    `ALTER TABLE ${table} DROP CONSTRAINT ${FOREIGN_KEYS[table]};
     INSERT INTO ${table} (${columns})
     SELECT ${values.replaceAll('ACCOUNT', `'${ACCOUNT}'::uuid`)}
     FROM json_to_recordset($rows$${texts}$rows$) AS r (nth integer, id uuid, text text)`,
  )
}

test('every old sentence gets its code and parameters, and its text does not change', async () => {
  const problems = samplesOf(OLD_PROBLEMS)
  const { key_refused, simulated, unspecified, other } = REJECTIONS
  const rejections = samplesOf({ key_refused, simulated, unspecified, other })
  const attempt = 'account_id, delivery_id, number, request_headers, duration_ms, problem'
  await insertAll('delivery_attempts', attempt, `ACCOUNT, r.id, r.nth, '{}', 1, r.text`, problems)
  const order = 'account_id, id, mode, status, amount, rejected_at, rejection_reason'
  const rejected = `ACCOUNT, r.id, 'test', 'rejected', 1000 + r.nth, now(), r.text`
  await insertAll('refunds', `${order}, charge_id`, `${rejected}, r.id`, rejections)
  const key = 'pix_key_type, pix_key, dict_key'
  await insertAll('withdrawals', `${order}, ${key}`, `${rejected}, 'email', '', ''`, rejections)
  const { by_token: _newer, ...reasons } = DISABLED_REASONS
  const disabled = [...Object.values(reasons), 'for a test'].map(text => ({ text }))
  const endpoint = 'account_id, id, mode, url, disabled_at, disabled_reason'
  await insertAll(
    'webhook_endpoints',
    endpoint,
    `ACCOUNT, r.id, 'test', r.nth, now(), r.text`,
    disabled,
  )
  await migrate(url)
  const stored = (table: string, name: string, text: string, orderColumn: string) =>
    query(
      url,
      `SELECT ${name}_code AS code, ${name}_params AS params, ${text} AS text FROM ${table} ORDER BY ${orderColumn}`,
    )
  expect(await stored('delivery_attempts', 'problem', 'problem', 'number')).toEqual(problems)
  const reason = ['rejection', 'rejection_reason', 'amount'] as const
  expect(await stored('refunds', ...reason)).toEqual(rejections)
  expect(await stored('withdrawals', ...reason)).toEqual(rejections)
  const endpoints =
    'SELECT disabled_code, disabled_reason AS text FROM webhook_endpoints ORDER BY url'
  expect(await query(url, endpoints)).toEqual(
    disabled.map(({ text }, index) => ({
      disabled_code: Object.keys(reasons)[index] ?? 'other',
      text,
    })),
  )
})

test('the CHECK constraints allow exactly the codes of the program', async () => {
  const rows = await query(
    await makeDatabase(),
    `SELECT conname, convalidated, pg_get_constraintdef(oid) AS rule FROM pg_constraint
     WHERE conname ~ '_(problem|rejection|reason|disabled)_code_(known|complete)$'`,
  )
  const codesOf = (name: string) => {
    const { rule } = rows.find(({ conname }) => conname === name) ?? {}
    return [...String(rule).matchAll(/'(\w+)'/g)].map(([, code]) => code).sort()
  }
  // Rows of earlier releases may have `name_denied`, which is written as `name_unknown` today.
  const problemCodes = [...PROBLEM_CODES, 'name_denied'].sort()
  expect(codesOf('delivery_attempts_problem_code_known')).toEqual(problemCodes)
  expect(codesOf('withdrawals_rejection_code_known')).toEqual([...REJECTION_CODES].sort())
  const ofBank = Object.keys(REJECTIONS)
  expect(codesOf('refunds_rejection_code_known')).toEqual(ofBank.toSorted())
  expect(codesOf('simulator_orders_reason_code_known')).toEqual([...SIMULATOR_REASONS].sort())
  expect(codesOf('webhook_endpoints_disabled_code_known')).toEqual([...DISABLED_CODES].sort())
  expect(rows.every(({ convalidated }) => convalidated)).toBe(true)
  expect(rows).toHaveLength(8)
})
