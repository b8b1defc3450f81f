import { execFileSync } from 'node:child_process'
import { createHash, createHmac, createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACTIONS } from '#lib/audit/actions.ts'
import { registerAdapter, unregisterAdapters } from '#lib/banks/served.ts'
import { simulator } from '#lib/banks/simulator.ts'
import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { deriveKey, hmac, keyedHash, keyId, PURPOSES, unseal } from '#lib/core/keys.ts'
import { METRICS } from '#lib/core/metrics.ts'
import { REFUSALS } from '#lib/core/refusals.ts'
import { describeVariables, env, supplyEnv } from '#lib/core/settings.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import { sendDueMails } from '#lib/mail/queue.ts'
import { beginPasskeyAuthentication } from '#lib/people/passkeys.ts'
import { openSession } from '#lib/people/sessions.ts'
import { createReceiptUrl, RECEIPT_PATH, verifyReceipt } from '#lib/receipts/sign.ts'
import { authOptions } from '#lib/session/options.ts'
import { cookieNames } from '#lib/session/read.ts'
import { ACCOUNT_COOKIE, LOCALE_COOKIE, THEME_COOKIE } from '#lib/session/schema.ts'
import { type SignInCredentials, type SignInDetails, signIn } from '#lib/session/sign-in.ts'
import { type ApiResponse, call } from '#lib/testing/call.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { deliverDue } from '#lib/testing/deliveries.ts'
import {
  type Api,
  CHARGE,
  makeDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { openMailServer } from '#lib/testing/mail-server.ts'
import { sendDueRefunds, sendDueWithdrawals } from '#lib/testing/orders.ts'
import { makeSoftwareKey } from '#lib/testing/software-key.ts'
import { generateTotp } from '#lib/testing/totp.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'
import { DELIVERY_STATUSES, EVENT_TYPES } from '#lib/webhooks/states.ts'
import frozen from './frozen.json' with { type: 'json' }

/**
 * Clients, and what they store, depend on everything here. An expected value changes only with an
 * announced change of the API; none is computed by the code under test.
 */
const FROZEN_ROWS = readFileSync(join(import.meta.dirname, 'frozen-world.sql'), 'utf8')

const STORED_KEYS_SQL = `
  SELECT json, array_agg(DISTINCT key ORDER BY key) AS keys FROM (
    SELECT 'events.resource ' || type AS json, json_object_keys(resource) AS key
    FROM events WHERE account_id = $1
    UNION ALL SELECT 'events.resource.refund ' || type, json_object_keys(resource->'refund')
    FROM events WHERE account_id = $1 AND json_typeof(resource->'refund') = 'object'
    UNION ALL SELECT 'audit_log.before ' || action, json_object_keys(before)
    FROM audit_log WHERE account_id = $1 AND json_typeof(before) = 'object'
    UNION ALL SELECT 'audit_log.after ' || action, json_object_keys(after)
    FROM audit_log WHERE account_id = $1 AND json_typeof(after) = 'object'
    UNION ALL SELECT 'gateway_calls.request ' || operation, json_object_keys(request)
    FROM gateway_calls WHERE account_id = $1
    UNION ALL SELECT 'gateway_calls.response ' || operation, json_object_keys(response)
    FROM gateway_calls WHERE account_id = $1 AND json_typeof(response) = 'object'
    UNION ALL SELECT 'delivery_attempts.request_headers', json_object_keys(request_headers)
    FROM delivery_attempts WHERE account_id = $1) found
  GROUP BY json ORDER BY json`

const { keys, names, stored, world } = frozen
const originalEnv = { ...env() }
/** With their labels: rules and dashboards of operators name both. */
const METRIC_NAMES = Object.entries(METRICS).map(
  ([name, { kind, labels }]) => `${name}{${labels.join(',')}} ${kind}`,
)

let database: pg.Client
let api: Api
let pageHeaders: Record<string, string>

beforeAll(async () => {
  const url = await openFrozenDatabase()
  supplyEnv({
    DATABASE_URL: url,
    TROCO_SECRET: keys.secret,
    PUBLIC_URL: world.origin,
    RATE_TOKEN_PER_SECOND: '1000',
    RATE_TOKEN_BURST: '1000',
  })
  database = new pg.Client({ connectionString: url })
  await database.connect()
  api = await startApi()
  pageHeaders = await headersOf(world.owner, world.account)
})

afterAll(async () => {
  await database.end()
  await api.close()
  await disconnect()
  supplyEnv({
    DATABASE_URL: originalEnv.DATABASE_URL ?? '',
    TROCO_SECRET: originalEnv.TROCO_SECRET ?? '',
    PUBLIC_URL: originalEnv.PUBLIC_URL,
    RATE_TOKEN_PER_SECOND: String(originalEnv.RATE_TOKEN_PER_SECOND),
    RATE_TOKEN_BURST: String(originalEnv.RATE_TOKEN_BURST),
  })
})

/** Creates a database with the frozen rows. */
async function openFrozenDatabase(): Promise<string> {
  const url = await makeDatabase()
  const client = new pg.Client({ connectionString: ownerUrlOf(url) })
  await client.connect()
  await client.query(FROZEN_ROWS)
  await client.end()
  return url
}

/** Headers that pages send, as literals: pages already open in browsers must stay compatible. */
async function headersOf(userId: string, accountId: string) {
  const secret = await openSession(userId, { ip: null, userAgent: 'a browser' })
  return {
    cookie: `troco-session=${secret}`,
    origin: world.origin,
    'troco-mode': 'test',
    'troco-account': accountId,
  }
}

const callApi = (path: string) => call(api.url, 'GET', path, { token: world.token })
const callAsPage = (path: string, method = 'GET') =>
  call(api.url, method, path, { headers: pageHeaders })

function expectSuccess(response: ApiResponse): ApiResponse {
  expect(response.status, response.text).toBeLessThan(300)
  return response
}

test('frozen books verify, and the operator has its own', async () => {
  const { findings, transfers } = await verifyLedger(db())
  expect(findings.filter(({ violation }) => violation)).toEqual([])
  expect(transfers).toBeGreaterThan(0)
  expect(await db().ledgerAccount.count({ where: { accountId: OPERATOR_ACCOUNT_ID } })).toBe(6)
})

describe('data made with a server key stays readable', () => {
  type Purpose = Parameters<typeof deriveKey>[0]

  test.each(Object.entries(keys.purposes))('the key for %s is the same', (purpose, hex) => {
    expect(
      deriveKey(purpose as Purpose)
        .export()
        .toString('hex'),
    ).toBe(hex)
  })

  test('the key id, the hash of a token and the HMAC of a text are the same', () => {
    expect(keyId()).toBe(keys.keyId)
    expect(keyedHash('api-tokens', keys.tokenHash.text)).toBe(keys.tokenHash.hex)
    const { text, hex } = keys.hmac
    expect(hmac('api-tokens', text).toString('hex')).toBe(hex)
  })

  test.each(keys.boxes)(
    'a text encrypted for $purpose decrypts',
    ({ purpose, context, text, box }) => {
      const sealed = Buffer.from(box, 'base64')
      expect(unseal(sealed, context, purpose as 'mails')).toBe(text)
    },
  )

  test('a token works, but not with another checksum', async () => {
    expect((await callApi('/account')).status).toBe(200)
    const otherToken = world.token.slice(0, -1) + (world.token.endsWith('A') ? 'B' : 'A')
    const refused = await call(api.url, 'GET', '/account', { token: otherToken })
    expect([refused.status, refused.headers.get('x-error-code')]).toEqual([401, 'unauthenticated'])
  })

  test('next-auth signs with the same key', () => {
    const key = Buffer.from(keys.purposes['next-auth'], 'hex').toString('base64url')
    expect(authOptions({}).secret).toBe(key)
  })
})

describe('on the wire', () => {
  test.each(Object.entries(frozen.wire))(
    'GET %s responds with the same bytes',
    async (path, text) => {
      expect(expectSuccess(await callApi(path)).text).toBe(text)
    },
  )

  test.each(Object.entries(frozen.pages))(
    'GET %s for a page responds with all earlier fields, and may add new ones',
    async (path, text) => {
      const earlier = JSON.parse(text)
      // Signatures and responses of a delivery that sent a document are shown to who reveals it.
      const response = earlier.data.attempts
        ? await callAsPage(`/dashboard${path}/document`, 'POST')
        : await callAsPage(path)
      expect(expectSuccess(response).body).toMatchObject(earlier)
    },
  )

  test('endpoints have the same URL, types and reason for being disabled', async () => {
    const { body } = expectSuccess(await callAsPage('/webhooks/endpoints'))
    const fixed = body.data.map(({ health, ...rest }: { health: object }) => rest)
    expect(fixed).toMatchObject(frozen.endpoints)
    for (const one of fixed) expect(one).toMatchObject({ full_documents: true })
  })

  test('a stored idempotency key replays its first response', async () => {
    const { path, key, body, answer } = world.idempotency
    const replay = await call(api.url, 'POST', path, { token: world.token, key, body })
    expect(replay.text).toBe(answer)
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
  })
})

// After the wire tests: opening the page adds to the charge's timeline.
test('the URL of a payer page opens its charge', async () => {
  const { status } = await fetch(`${api.url}${world.payPath}`)
  expect(status).toBe(200)
})

describe('webhooks', () => {
  test('a receipt proves itself, and its payment gets the same URL', async () => {
    const verdict = await verifyReceipt(
      new URL(keys.receiptUrl).pathname.slice(RECEIPT_PATH.length),
    )
    expect(verdict.state).toBe('signed')
    if (verdict.state === 'signed')
      expect(await createReceiptUrl(verdict.facts)).toBe(keys.receiptUrl)
  })

  test('a delivery is signed with the secret that its receiver has', async () => {
    await deliverDue()
    for (const [id, secret] of Object.entries(world.deliveries)) {
      const path = `/dashboard/webhooks/deliveries/${id}/document`
      const { attempts, event_id } = (await callAsPage(path, 'POST')).body.data
      expect(attempts).toHaveLength(2)
      const { request_headers: headers, request_body: body } = attempts[1]
      expect(headers['webhook-id']).toBe(event_id)
      new Webhook(secret).verify(body, headers)
    }
  })

  test('the secrets are shown unchanged', async () => {
    const { body } = expectSuccess(await callAsPage('/dashboard/webhooks/secret'))
    expect(body.data.secret).toBe(world.resourceSecret)
  })
})

test('a queued mail is sent unchanged', async () => {
  const server = await openMailServer()
  supplyEnv({ SMTP_URL: server.url })
  await sendDueMails()
  await server.close()
  supplyEnv({ SMTP_URL: '' })
  const sent = server.received.map(({ to, subject, text }) => ({
    to: to[0],
    subject,
    text: text.trim(),
  }))
  const bySubject = (one: { text: string }, other: { text: string }) =>
    one.text < other.text ? -1 : 1
  const written = world.mails.map(({ to, subject, text }) => ({ to, subject, text: text.trim() }))
  expect(sent.sort(bySubject)).toEqual(written.sort(bySubject))
})

describe('users can sign in', () => {
  async function attemptSignIn(credentials: SignInCredentials) {
    const outcome: SignInDetails = {}
    return {
      person: await signIn(credentials, null, outcome),
      challenge: outcome.step?.challenge ?? '',
    }
  }
  const { email, password } = world

  test('with password and authenticator code', async () => {
    const { challenge } = await attemptSignIn({ email, password })
    const { person } = await attemptSignIn({ challenge, code: generateTotp(world.appSecret) })
    expect(person?.id).toBe(world.owner)
  })

  test('with password and recovery code', async () => {
    const { challenge } = await attemptSignIn({ email, password })
    const { person } = await attemptSignIn({ challenge, code: world.recoveryCode })
    expect(person?.id).toBe(world.owner)
  })

  test('with a passkey', async () => {
    const id = Buffer.from(world.passkey.id, 'base64url')
    const device = { id, privateKey: createPrivateKey(world.passkey.privateKey) }
    const options = await beginPasskeyAuthentication(world.origin, null)
    const { challenge, passkey } = makeSoftwareKey(world.origin, device).authenticate(options)
    const { person } = await attemptSignIn({ challenge, passkey: JSON.stringify(passkey) })
    expect(person?.id).toBe(world.owner)
  })

  test('as admin with password only, and a wrong password counts under the same key', async () => {
    const { adminEmail, adminId } = world
    expect((await attemptSignIn({ email: adminEmail, password })).person?.id).toBe(adminId)
    expect((await attemptSignIn({ email: adminEmail, password: 'wrong' })).person).toBeNull()
    const key = createHmac('sha256', Buffer.from(keys.purposes['sign-in'], 'hex'))
    const { rows } = await database.query(
      `SELECT attempts FROM sign_in_attempts WHERE scope = 'person' AND key = $1`,
      [key.update(adminEmail).digest('base64url')],
    )
    expect(rows).toEqual([{ attempts: 1 }])
  })
})

describe('newly written data', () => {
  /** No process listens on this port. */
  const url = 'http://127.0.0.1:29999/hook'
  let accountId: string

  beforeAll(async () => {
    const merchant = await makeMerchant()
    accountId = merchant.id
    const token = await makeToken(accountId)
    const { rows } = await database.query('SELECT user_id FROM memberships WHERE account_id = $1', [
      accountId,
    ])
    const headers = await headersOf(rows[0].user_id, accountId)
    const post = async (path: string, body: object) =>
      expectSuccess(await call(api.url, 'POST', path, { token, body })).body.data
    const endpoint = { url, event_types: '*' }
    const settings = {
      name: 'Loja',
      city: 'Recife',
      time_zone: 'America/Recife',
      expires_in: 3_600,
    }
    const change = { headers, body: settings }
    expectSuccess(await call(api.url, 'PATCH', '/dashboard/account', change))
    expectSuccess(await call(api.url, 'POST', '/webhooks/endpoints', { headers, body: endpoint }))
    const charge = (await post('/transactions', { ...CHARGE, amount: 10_000, webhook_url: url }))
      .transaction_id
    await post(`/sandbox/transactions/${charge}`, { outcome: 'paid' })
    await post(`/transactions/${charge}/refunds`, { amount: 100 })
    // The calls of an adapter without local answers are in the journal.
    registerAdapter('simulator', () => ({ ...simulator, local: undefined }))
    for (const outcome of ['approved', 'rejected']) {
      const order = { amount: 1_000, pix_key: 'hold@example.com', pix_key_type: 'email' }
      const withdrawal = await post('/withdrawals', order)
      if (outcome === 'approved') await sendDueWithdrawals()
      await post(`/sandbox/withdrawals/${withdrawal.id}`, { outcome })
    }
    await sendDueRefunds()
    // The simulator settles an order a second after it accepts it.
    await database.query(`UPDATE simulator_orders SET settles_at = now()`)
    await database.query(`UPDATE bank_orders SET due_at = now() WHERE due_at IS NOT NULL`)
    await sendDueRefunds()
    await deliverDue()
    unregisterAdapters()
  })

  test('has the same keys in its JSON columns', async () => {
    const { rows } = await database.query<{ json: string; keys: string[] }>(STORED_KEYS_SQL, [
      accountId,
    ])
    expect(Object.fromEntries(rows.map(({ json, keys }) => [json, keys]))).toEqual(stored)
  })

  test('a delivery has the id of its event, or for an endpoint the MD5 of event and endpoint id', async () => {
    const { rows } = await database.query<Record<'id' | 'event_id' | 'endpoint_id', string>>(
      'SELECT id, event_id, endpoint_id FROM deliveries WHERE account_id = $1',
      [accountId],
    )
    const md5 = (text: string) => createHash('md5').update(text).digest('hex')
    for (const { id, event_id, endpoint_id } of rows) {
      const expected = endpoint_id ? md5(event_id + endpoint_id) : event_id.replaceAll('-', '')
      expect(id.replaceAll('-', '')).toBe(expected)
    }
    expect(new Set(rows.map(({ endpoint_id }) => endpoint_id !== null)).size).toBe(2)
  })
})

describe('names', () => {
  const refusalHeaders = [
    ...new Set(Object.values(REFUSALS).flatMap(({ headers = {} }) => Object.keys(headers))),
  ]

  test('error codes keep their status, and all are pinned', () => {
    const statuses = Object.entries(REFUSALS).map(([code, { status }]) => [code, status])
    expect(Object.fromEntries(statuses)).toEqual(names.errors)
  })

  test.each([
    ['environment variables', names.environment, describeVariables().map(({ name }) => name)],
    ['audit actions', names.actions, ACTIONS],
    ['event types', names.events, EVENT_TYPES],
    ['delivery statuses', names.deliveryStatuses, DELIVERY_STATUSES],
    ['permissions', names.permissions, PERMISSIONS],
    ['purposes of keys', Object.keys(keys.purposes), PURPOSES],
    ['headers of refusals', names.refusalHeaders, refusalHeaders],
    ['metrics', names.metrics, METRIC_NAMES],
  ])('all %s are pinned, and none is removed', (_, pinned, current) => {
    expect(current.toSorted()).toEqual(pinned.toSorted())
  })

  test('cookies keep their names, over http and https', () => {
    expect(cookieNames()).toEqual(names.cookies.http)
    supplyEnv({ PUBLIC_URL: 'https://pay.example' })
    expect(cookieNames()).toEqual(names.cookies.https)
    supplyEnv({ PUBLIC_URL: world.origin })
    expect([ACCOUNT_COOKIE, LOCALE_COOKIE, THEME_COOKIE]).toEqual(names.cookies.preferences)
  })

  test('npm scripts and commands of the command line are those that are pinned', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>
    }
    expect(Object.keys(scripts).toSorted()).toEqual(names.npm.toSorted())
    const [, ...words] = (scripts.troco ?? '').split(' ')
    const help = execFileSync(process.execPath, [...words, 'help'], { encoding: 'utf8' })
    const [, ...blocks] = help.split(/\n {2}(?=[a-z])/)
    const commands = blocks.map(block => {
      const words = /^[a-z-]+( [a-z][a-z-]*)*/.exec(block)
      return [words?.[0], ...(block.match(/--[a-z-]+/g) ?? [])].join(' ')
    })
    expect(commands.toSorted()).toEqual(names.commandLine.toSorted())
  })

  test('responses have the same headers', async () => {
    const { headers: quiet } = await callApi('/account')
    const { headers: denied } = await call(api.url, 'GET', '/events', {
      token: await makeToken(world.account, { permissions: ['account:read'] }),
    })
    const sentHeaders = new Set([...quiet.keys(), ...denied.keys()])
    expect(names.headers.filter(name => !sentHeaders.has(name))).toEqual([])
    expect(denied.get('x-required-permission')).toBe('events:read')
  })
})
