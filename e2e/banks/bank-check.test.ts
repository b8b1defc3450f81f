import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connectionTo, credentialsAt, openAt, settingsAt } from '#e2e/banks/open.ts'
import type { KeyPair } from '#e2e/psp/certificates.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import { addConnection, checkConnection } from '#lib/banks/connections.ts'
import { type BankFinding, findingLevelOf } from '#lib/banks/gateway.ts'
import { readNoticeAddress, rotateNoticeSecret } from '#lib/banks/notice-address.ts'
import type { NewConnection } from '#lib/banks/schema.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { seal } from '#lib/core/keys.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'
import { db } from '#lib/db/client.ts'

const ACTOR = { type: 'command_line' } as const
const SCOPES = ['cob.read', 'cob.write', 'pix.read', 'pix.write', 'webhook.read', 'webhook.write']
/** A profile that leaves the scopes of the token to the bank. */
const BANK_GRANTS = { profile: 'bradesco' }

let bank: RunningBank
beforeAll(async () => {
  bank = await startBank()
})
afterAll(() => bank.stop())
beforeEach(async () => {
  await bank.run('present', {})
  await bank.run('change', { scopes: SCOPES, clockOffsetMs: 0 })
})

async function check(changes: Partial<NewConnection> = {}) {
  const { id } = await openAt(bank, changes)
  return { id, ...(await checkConnection(id, ACTOR)) }
}

function credentialsOf(pair: KeyPair, changes: object = {}) {
  return { credentials: JSON.stringify({ ...credentialsAt(bank, 'pem', pair), ...changes }) }
}

/** Lists what needs an action, except that certificates of this bank end after a day. */
function notOk(findings: BankFinding[]) {
  return findings
    .filter(
      finding => findingLevelOf(finding) !== 'ok' && finding.code !== 'certificate_expires_soon',
    )
    .map(({ code, params }) => [code, params.scope ?? params.host ?? params.reason ?? ''])
}

describe('a check of a good bank', () => {
  test('uses each scope, and passes', async () => {
    const { id, code, findings } = await check()
    expect(notOk(findings)).toEqual([['notices_missing', '']])
    expect(findings.map(finding => finding.code)).toEqual([
      'certificate_expires_soon',
      'server_trusted',
      'token_issued',
      'clock_agrees',
      'scope_used',
      'scope_used',
      'scope_used',
      'scope_used',
      'payments_listed',
      'scope_used',
      'notices_missing',
      'scope_used',
    ])
    const used = findings
      .filter(each => each.code === 'scope_used')
      .map(({ params }) => params.scope)
    expect(used.toSorted()).toEqual(SCOPES)
    expect(code).toBe('ok')
    expect(await db().connection.findUniqueOrThrow({ where: { id } })).toMatchObject({
      checkCode: 'ok',
      checkedAt: expect.any(Date),
    })
  })

  test('uses the credentials that another process has just renewed', async () => {
    const { id } = await check(credentialsOf(bank.certificates.expiredClient))
    const { credentials } = credentialsOf(bank.certificates.client)
    const sealedCredentials = seal(credentials, id, 'bank-credentials')
    await db().connection.update({ where: { id }, data: { sealedCredentials } })
    await db().connection.update({
      where: { id },
      data: { checkCode: 'ok', checkedAt: new Date() },
    })
    expect((await checkConnection(id, ACTOR)).code).toBe('ok')
    const { checkCode } = await db().connection.findUniqueOrThrow({ where: { id } })
    expect(checkCode).toBe('ok')
  })

  test('changes nothing there', async () => {
    await check()
    const { charges, payments, payouts, webhooks } = await bank.run('readRecords')
    expect({ charges, payments, payouts, webhooks }).toEqual({
      charges: [],
      payments: [],
      payouts: [],
      webhooks: [],
    })
  })
})

describe('the check names', () => {
  test('an expired certificate once, although the bank refuses it as well', async () => {
    const { code, findings } = await check(credentialsOf(bank.certificates.expiredClient))
    expect(findings.map(finding => finding.code)).toEqual([
      'certificate_expired',
      'server_trusted',
      'calls_untried',
    ])
    expect(code).toBe('blocked')
  })

  test('a certificate that the bank does not know', async () => {
    const { code, findings } = await check(credentialsOf(bank.certificates.foreignClient))
    expect(findings.map(finding => finding.code)).toEqual([
      'certificate_expires_soon',
      'server_trusted',
      'certificate_dropped',
      'calls_untried',
    ])
    expect(code).toBeNull()
  })

  test.each([
    ['foreignServer', /SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE/],
    ['expiredServer', /CERT_HAS_EXPIRED/],
  ] as const)(
    'the certificate %s of the server, and sends nothing to it',
    async (shows, reason) => {
      const { length: before } = await bank.run('readTraffic', {})
      await bank.run('present', { shows })
      const { code, findings } = await check()
      expect(findings).toEqual([
        expect.objectContaining({ code: 'certificate_expires_soon' }),
        {
          code: 'server_untrusted',
          params: expect.objectContaining({
            host: '127.0.0.1',
            reason: expect.stringMatching(reason),
          }),
        },
        { code: 'token_untried', params: {} },
      ])
      expect(code).toBe('blocked')
      expect(await bank.run('readTraffic', {})).toHaveLength(before)
    },
  )

  test('a wrong secret, and repeats none of it', async () => {
    const client_secret = 'canary-of-a-wrong-secret'
    const { code, findings } = await check(
      credentialsOf(bank.certificates.client, { client_secret }),
    )
    expect(notOk(findings)).toEqual([
      ['token_refused', expect.stringContaining('invalid_client')],
      ['calls_untried', ''],
    ])
    expect(JSON.stringify(findings)).not.toContain('canary')
    expect(code).toBe('blocked')
  })

  test('each scope that the bank grants to no token', async () => {
    const scopes = SCOPES.filter(scope => scope !== 'pix.write' && scope !== 'webhook.read')
    await bank.run('change', { scopes })
    const { code, findings } = await check()
    expect(notOk(findings)).toEqual([
      ['scope_missing', 'pix.write'],
      ['scope_missing', 'webhook.read'],
    ])
    const used = findings
      .filter(each => each.code === 'scope_used')
      .map(({ params }) => params.scope)
    expect(used.toSorted()).toEqual(scopes)
    expect(code).toBe('blocked')
  })

  test.each([
    ['cob.read', 'pix.write'],
    ['cob.write', 'pix.read'],
  ])('the scopes %s and %s that the token lacks', async (...missing) => {
    await bank.run('change', { scopes: SCOPES.filter(scope => !missing.includes(scope)) })
    const { code, findings } = await check(BANK_GRANTS)
    expect(notOk(findings)).toEqual([
      ...missing.map(scope => ['scope_missing', scope]),
      ['notices_missing', ''],
    ])
    expect(code).toBe('blocked')
  })

  test('missing scopes of notices, without which live mode works', async () => {
    await bank.run('change', { scopes: SCOPES.slice(0, 4) })
    const { code, findings } = await check(BANK_GRANTS)
    expect(notOk(findings)).toEqual([
      ['scope_missing_for_notices', 'webhook.read'],
      ['scope_missing_for_notices', 'webhook.write'],
    ])
    expect(code).toBe('ok')
  })

  test.each([90_000, -90_000])('a clock of the bank that is %d ms off', async clockOffsetMs => {
    await bank.run('change', { clockOffsetMs })
    const { code, findings } = await check()
    const { params } = findings.find(each => each.code === 'clock_differs') ?? expect.unreachable()
    expect(Math.sign(Number(params.seconds))).toBe(Math.sign(clockOffsetMs))
    expect(code).toBe('ok')
  })
})

test('the address for notices of a key is ours, an older one, or foreign: then only its host is told', async () => {
  const bank = await startBank()
  const { id } = await openAt(bank)
  const { registerWebhook } = await gatewayOfConnection(id)
  const examine = async (address: string) => {
    const registered = await registerWebhook?.(address, AbortSignal.timeout(10_000))
    expect(registered).toEqual({ outcome: 'ok', value: null })
    const { code, findings } = await checkConnection(id, ACTOR)
    expect(code).toBe('ok')
    return findings.filter(finding => finding.code.startsWith('notices_'))
  }
  const key = maskDictKey(bank.keys[0] ?? '')
  const current = (await readNoticeAddress(id)).replace('http:', 'https:')
  expect(await examine(current)).toEqual([{ code: 'notices_ours', params: { key } }])
  await rotateNoticeSecret(id, ACTOR)
  expect(await examine(current)).toEqual([{ code: 'notices_outdated', params: { key } }])
  for (const path of ['canary', `api/banks/${newId()}/notices/canary`])
    expect(await examine(`https://other.example:1/${path}`)).toEqual([
      { code: 'notices_foreign', params: { key, host: 'other.example:1' } },
    ])
  await bank.stop()
})

describe('a check without an answer keeps the result of the one before', () => {
  test('if the bank, one with the errors of Efí, is down', async () => {
    const down = await startBank({ kind: 'efi' })
    const { id } = await openAt(down, { profile: 'efi' })
    const before = await checkConnection(id, ACTOR)
    expect(notOk(before.findings)).toEqual([['notices_missing', '']])
    expect(before.code).toBe('ok')
    await down.stop()
    const { code, findings } = await checkConnection(id, ACTOR)
    expect(notOk(findings)).toEqual([
      ['server_unreachable', '127.0.0.1'],
      ['token_untried', ''],
    ])
    expect(code).toBeNull()
    expect(await db().connection.findUniqueOrThrow({ where: { id } })).toMatchObject({
      checkCode: 'ok',
    })
  })

  test('if it responds to no request for a token', async () => {
    await bank.run('addFault', { kind: 'respond', path: '/oauth/token' })
    const { code, findings } = await check()
    expect(notOk(findings)).toEqual([
      ['token_unanswered', expect.any(String)],
      ['calls_untried', ''],
    ])
    expect(code).toBeNull()
  })
})

test.each<[string, { status: number; body?: string }]>([
  ['a failure of the bank', { status: 500 }],
  ['a gateway without the route', { status: 404, body: '{"message":"no Route matched"}' }],
  ['a route without the method', { status: 405, body: '{"detail":"Method Not Allowed"}' }],
  ['a server without the function', { status: 501, body: '{}' }],
])('%s while a scope is used leaves that scope open', async (_, response) => {
  await bank.run('addFault', { kind: 'respond', method: 'PATCH', ...response })
  const { code, findings } = await check()
  expect(notOk(findings)).toEqual([
    ['scope_unproven', 'cob.write'],
    ['notices_missing', ''],
  ])
  expect(code).toBe('ok')
})

describe('credentials are refused when a connection is added', () => {
  const messageOf = (credentials: object) =>
    addConnection(
      connectionTo(bank, { credentials: JSON.stringify(credentials), settings: settingsAt(bank) }),
      ACTOR,
    ).then(
      () => 'added',
      error => error.message,
    )

  test('with a P12 without its passphrase, or with a wrong one', async () => {
    const { passphrase: _, ...without } = credentialsAt(bank, 'p12-with-passphrase')
    for (const credentials of [without, { ...without, passphrase: 'canary' }])
      expect(await messageOf(credentials)).toBe('credentials must have the passphrase of the p12')
  })

  test('with a P12 in RC2, and the message has the command that converts it', async () => {
    expect(await messageOf(credentialsAt(bank, 'p12-legacy'))).toMatch(
      /^credentials must have a p12 without RC2\. .+ Convert it with: .+openssl pkcs12 -legacy /,
    )
  })
})

describe('a check of an account at Efí', () => {
  /** Scopes of disputes and of the statement. */
  const LISTED_SCOPES = ['gn.infractions.read', 'gn.reports.write', 'gn.reports.read']
  const MISSING_LISTED = [
    ['scope_missing_for_disputes', 'gn.infractions.read'],
    ['scope_missing_for_statements', 'gn.reports.write'],
    ['scope_missing_for_statements', 'gn.reports.read'],
  ]
  const keys = [newId(), 'caixa@example.com']
  const paying_key = keys[1]
  let efi: RunningBank
  let connection: Partial<NewConnection>
  beforeAll(async () => {
    efi = await startBank({ kind: 'efi', openingBalance: 12_345, keys })
    connection = { kind: 'efi', receiving_keys: keys.slice(0, 1), paying_key }
  })
  afterAll(() => efi.stop())
  const checkEfi = async (changes: Partial<NewConnection> = {}) => {
    const { id } = await openAt(efi, { ...connection, ...changes })
    return checkConnection(id, ACTOR)
  }

  test('uses the scopes of payouts, reads the balance and pays nothing', async () => {
    const { code, findings } = await checkEfi()
    expect(notOk(findings).map(([name]) => name)).toEqual([
      'settings_open',
      'notices_missing',
      'payer_notices_missing',
    ])
    expect(code).toBe('blocked')
    const used = findings.filter(each => each.code === 'scope_used').map(each => each.params.scope)
    expect(used).toEqual(
      expect.arrayContaining(['pix.send', 'gn.pix.send.read', 'gn.balance.read', 'pix.write']),
    )
    expect(used).toEqual(expect.arrayContaining(LISTED_SCOPES))
    expect(findings).toContainEqual({ code: 'balance_read', params: { amount: '123.45' } })
    const { charges, payouts } = await efi.run('readRecords')
    expect([charges, payouts]).toEqual([[], []])
    const exchanges = await efi.run('readTraffic', {})
    const orders = exchanges.filter(({ target }) => target.endsWith('/extrato-conciliacao'))
    expect(orders.map(({ status }) => status)).toEqual([400])
  })

  test.each([
    ['scope_missing_for_disputes', 'gn.infractions.read'],
    ['scope_missing_for_statements', 'gn.reports.read'],
    ['scope_missing_for_statements', 'gn.reports.write'],
  ])('names as %s the scope %s, without which live mode works', async (name, missing) => {
    const scopes = [...SCOPES, ...LISTED_SCOPES].filter(scope => scope !== missing)
    await efi.run('change', { scopes })
    const { code, findings } = await checkEfi({ paying_key: undefined })
    expect(notOk(findings)).toEqual([
      [name, missing],
      ['notices_missing', ''],
    ])
    expect(code).toBe('ok')
  })

  test('that only pays needs no scope of charges', async () => {
    const granted = ['webhook.read', 'webhook.write', 'pix.send', 'gn.pix.send.read']
    await efi.run('change', { scopes: granted })
    const { code, findings } = await checkEfi({ receiving_keys: [] })
    expect(notOk(findings)).toEqual([
      ['scope_missing', 'gn.balance.read'],
      ...MISSING_LISTED,
      ['payer_notices_missing', ''],
    ])
    expect(code).toBe('blocked')
  })

  test('that only receives needs no scope of payouts', async () => {
    await efi.run('change', { scopes: SCOPES })
    const { code, findings } = await checkEfi({ paying_key: undefined })
    expect(notOk(findings)).toEqual([...MISSING_LISTED, ['notices_missing', '']])
    expect(code).toBe('ok')
  })
})
