import { readdirSync, readFileSync } from 'node:fs'
import { createTranslator } from 'next-intl'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { registerAdapter, unregisterAdapters } from '#lib/banks/served.ts'
import { simulator } from '#lib/banks/simulator.ts'
import { indexCharges } from '#lib/charges/search.ts'
import { newId, newRoutableId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { connect, db, disconnect } from '#lib/db/client.ts'
import { prepareDatabase } from '#lib/db/roles.ts'
import { checkLedgers } from '#lib/ledger/check.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { assessDurability } from '#lib/operator/database.ts'
import { examineReceivers } from '#lib/operator/gateways.ts'
import { examineEndpoints, readHealth, tasksOf } from '#lib/operator/health.ts'
import { type Check, FINDING_STATES } from '#lib/operator/schema.ts'
import { CHECK_GROUPS, type CheckName } from '#lib/operator/states.ts'
import { examineTokens } from '#lib/operator/tokens.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection } from '#lib/testing/connection.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { createPaidCharge, deliverDue } from '#lib/testing/deliveries.ts'
import {
  CHARGE,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  openCharge,
  runAsOwner,
} from '#lib/testing/fixtures.ts'
import { LISTS } from '#lib/testing/lists.ts'
import { changeOrder, dropOrders } from '#lib/testing/orders.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'
import { hostOf } from '#lib/webhooks/target.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import en from '#messages/en/health.json' with { type: 'json' }
import ptBR from '#messages/pt-BR/health.json' with { type: 'json' }

inOwnDatabase()

let merchant: Account
beforeEach(async () => {
  merchant ??= await makeMerchant('Loja Saudável')
  await setHeartbeat(0)
})

async function setHeartbeat(agoS: number): Promise<void> {
  await db().$executeRaw`DELETE FROM worker_heartbeats`
  await db().$executeRaw`
    INSERT INTO worker_heartbeats (id, host, pid, beat_at)
    VALUES (${newId()}::uuid, 'here', 1, now() - make_interval(secs => ${agoS}::float8))`
}

async function readCheck(name: CheckName) {
  const { checks } = await readHealth()
  const { state, level } = checks.find(check => check.name === name) ?? {}
  return [level, state]
}

/** Expects a fault to be reported only while it lasts. */
async function expectFinding(
  name: CheckName,
  expected: [level: string, state: string],
  cause: () => Promise<unknown>,
  repair: () => Promise<unknown>,
): Promise<void> {
  const before = await readCheck(name)
  expect(before[0]).toBe('ok')
  await cause()
  expect(await readCheck(name)).toEqual(expected)
  await repair()
  expect(await readCheck(name)).toEqual(before)
}

test('enabled endpoints whose address is refused are listed, without the path of their URL', async () => {
  const data = { accountId: merchant.id, mode: 'test', eventTypes: ['charge.paid'] }
  const ids = [newId(), newId(), newId()]
  const urls = ['http://51.15.0.9:8080/secret', 'http://51.15.0.10/', 'http://51.15.0.9/disabled']
  for (const [at, id = ''] of ids.entries()) {
    const disabled = at === 2 ? { disabledAt: new Date(), disabledCode: 'by_member' } : {}
    const url = urls[at] ?? ''
    await db().webhookEndpoint.create({
      data: { ...data, id, url, host: hostOf(url), ...disabled },
    })
  }
  const before = env().TROCO_ENV
  const resolve = async () => [{ address: '8.8.4.4', family: 4 }]
  try {
    supplyEnv({ TROCO_ENV: 'local' })
    expect(await examineEndpoints(resolve)).toMatchObject({ state: 'endpoints_allowed' })
    supplyEnv({ TROCO_ENV: 'production', OWN_ADDRESSES: '51.15.0.9' })
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 6 * 60_000)
    expect(await examineEndpoints(resolve)).toEqual({
      level: 'warning',
      state: 'endpoints_refused',
      figures: { refused: 1, names: 'Loja Saudável (http://51.15.0.9:8080)' },
      subjects: [{ kind: 'account', id: merchant.id, name: 'Loja Saudável' }],
    })
  } finally {
    vi.restoreAllMocks()
    supplyEnv({ TROCO_ENV: before, OWN_ADDRESSES: '' })
    await db().webhookEndpoint.deleteMany({ where: { id: { in: ids } } })
  }
})

test('a healthy system on trial reports every check as ok, except that it has no backup', async () => {
  await checkLedgers()
  const { checks, jobs, workers } = await readHealth()
  expect(checks.filter(({ level }) => level !== 'ok')).toEqual([
    { name: 'backups', level: 'warning', state: 'backups_none', figures: {} },
  ])
  // The page shows the checks of its groups only.
  const grouped = Object.values(CHECK_GROUPS).flat()
  expect(checks.map(({ name }) => name).toSorted()).toEqual(grouped.toSorted())
  expect(jobs).toEqual([])
  expect(workers).toMatchObject([{ host: 'here', pid: 1 }])
})

test('every state has a text, and every problem has advice, in both languages', () => {
  for (const { health } of [en, ptBR]) {
    expect(Object.keys(health.said).toSorted()).toEqual(
      [...FINDING_STATES.ok, ...FINDING_STATES.bad].toSorted(),
    )
    expect(Object.keys(health.advice).toSorted()).toEqual([...FINDING_STATES.bad].toSorted())
  }
})

test('the advice quotes log messages that the source contains', () => {
  const files = readdirSync('lib', { recursive: true, encoding: 'utf8' }).filter(
    file => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.includes('generated'),
  )
  const source = files.map(file => readFileSync(`lib/${file}`, 'utf8')).join('\n')
  const states = ['mails_given_up', 'books_unchecked'] as const
  for (const { health } of [en, ptBR]) {
    for (const state of states) {
      const quotes = [...health.advice[state].matchAll(/"([^"]+)"/g)].map(([, quote]) => quote)
      expect(quotes).not.toEqual([])
      for (const quote of quotes) expect(source).toContain(`'${quote}`)
    }
  }
})

test.each([
  ['en', en],
  ['pt-BR', ptBR],
] as const)('the texts can be formatted in %s with any figures', (locale, messages) => {
  const onError = (error: Error) => {
    throw error
  }
  const t = createTranslator({ locale, messages, namespace: 'health', onError })
  const names = JSON.stringify(messages.health).matchAll(/\{(\w+)/g)
  const figures = Object.fromEntries([...names].map(([, name]) => [name, 3]))
  for (const state of [...FINDING_STATES.ok, ...FINDING_STATES.bad]) t(`said.${state}`, figures)
  for (const state of FINDING_STATES.bad) expect(t(`advice.${state}`).length).toBeGreaterThan(30)
})

test('a silent worker is a warning after 30 s and a problem after 60 s', async () => {
  await setHeartbeat(29)
  expect(await readCheck('workers')).toEqual(['ok', 'workers_alive'])
  await setHeartbeat(45)
  expect(await readCheck('workers')).toEqual(['warning', 'worker_silent'])
  await setHeartbeat(120)
  expect(await readCheck('workers')).toEqual(['problem', 'worker_silent'])
  await db().$executeRaw`DELETE FROM worker_heartbeats`
  expect(await readCheck('workers')).toEqual(['problem', 'no_worker'])
  await setHeartbeat(0)
  expect(await readCheck('workers')).toEqual(['ok', 'workers_alive'])
})

test('clocks that differ from the database’s are named, and what they show together', async () => {
  const examine = async (...offsetsMs: number[]) => {
    await db().$executeRaw`DELETE FROM process_clocks`
    for (const [at, offsetMs] of offsetsMs.entries())
      await db().$executeRaw`INSERT INTO process_clocks (id, host, pid, offset_ms)
        VALUES (${newId()}::uuid, ${`host${at}`}, ${at}, ${offsetMs})`
    const { checks } = await readHealth()
    return checks.find(({ name }) => name === 'clocks')
  }
  expect(await examine(0, 1_999)).toMatchObject({ state: 'clocks_agree', level: 'ok' })
  expect(await examine(0, -2_000)).toMatchObject({
    state: 'clock_off',
    level: 'warning',
    figures: { processes: 2, names: 'host1 (1) −2 s' },
  })
  expect(await examine(61_000, 0, 3_000)).toMatchObject({
    state: 'clock_wrong',
    level: 'problem',
    figures: { processes: 3, names: 'host0 (0) +61 s' },
  })
  expect(await examine(61_000)).toMatchObject({ state: 'clock_single', level: 'problem' })
  expect(await examine(61_000, 62_000)).toMatchObject({
    state: 'clock_database',
    level: 'problem',
    figures: { processes: 2, names: 'host0 (0) +61 s, host1 (1) +62 s' },
  })
  await db().$executeRaw`UPDATE process_clocks SET measured_at = now() - interval '31 s'`
  expect(await readCheck('clocks')).toEqual(['ok', 'clocks_agree'])
})

describe('a stuck queue', () => {
  const late = (table: 'charges' | 'orders' | 'deliveries' | 'mails', id: string) => {
    const change = (dueAt: Date | null) => {
      const update = { where: { id }, data: { dueAt } }
      if (table === 'mails') return db().mail.updateMany(update)
      if (table === 'charges') return db().charge.updateMany(update)
      if (table === 'deliveries') return db().delivery.updateMany(update)
      // An open order is always due.
      return changeOrder(id, { dueAt: dueAt ?? new Date(Date.now() + 86_400_000) })
    }
    return {
      by: (minutes: number) => () => change(new Date(Date.now() - minutes * 60_000)),
      not: () => change(null),
    }
  }

  test('of charges is reported by the delay of its oldest row', async () => {
    const { not, by } = late('charges', (await openCharge(merchant)).id)
    await not()
    await expectFinding('charges', ['warning', 'queue_waits'], by(2), not)
    await expectFinding('charges', ['problem', 'queue_waits'], by(20), not)
  })

  test('of withdrawals is reported', async () => {
    await fundMerchant(merchant, 50_000)
    const key = {
      pixKeyType: 'email',
      pixKey: 'hold@x.example',
      dictKey: 'hold@x.example',
    } as const
    const { id } = await createWithdrawal(merchant.id, 'test', { amount: 1_000, ...key })
    const { not, by } = late('orders', id)
    await not()
    await expectFinding('withdrawals', ['warning', 'queue_waits'], by(2), not)
    await expectFinding('withdrawals', ['problem', 'queue_waits'], by(6), not)
  })

  test('has its stuck work in its line, also if nothing is due', async () => {
    const { id } = await createWithdrawal(merchant.id, 'test', {
      amount: 1_000,
      pixKeyType: 'email',
      pixKey: 'hold@x.example',
      dictKey: 'hold@x.example',
    })
    const readStuck = async () =>
      (await readHealth()).checks.find(({ name }) => name === 'withdrawals')?.stuck
    const before = (await readStuck()) ?? 0
    const createdAt = new Date(Date.now() - 16 * 60_000)
    await changeOrder(id, { createdAt })
    expect(await readStuck()).toBe(before + 1)
  })

  test('and an ending certificate are tasks of the staff, apart from problems and warnings', () => {
    const figures = {}
    const ending = { name: 'certificates', level: 'warning', state: 'certificate_ends', figures }
    const ended = { name: 'certificates', level: 'problem', state: 'certificate_ended', figures }
    const late = { name: 'mails', level: 'warning', state: 'mails_wait', figures, stuck: 2 }
    const moving = { name: 'refunds', level: 'ok', state: 'queue_moves', figures, stuck: 1 }
    expect(tasksOf([ending, late, moving] as Check[])).toEqual({
      problems: { count: 0, level: 'problem' },
      warnings: { count: 1, level: 'warning' },
      certificates: { count: 1, level: 'warning' },
      stuck: { count: 3, level: 'warning' },
    })
    expect(tasksOf([ending, ended] as Check[])).toMatchObject({
      problems: { count: 0 },
      certificates: { count: 2, level: 'problem' },
    })
  })

  test('of deliveries is reported for any receiver', async () => {
    await createPaidCharge(merchant, 'http://127.0.0.1:9/hook')
    const other = await makeMerchant()
    await createPaidCharge(other, 'http://127.0.0.2:9/hook')
    await db().$executeRaw`UPDATE deliveries SET due_at = NULL`
    await db().$executeRaw`DELETE FROM delivery_queues`
    // More accounts than are read, of which nothing is due.
    await db().$executeRaw`
      INSERT INTO delivery_queues (account_id, due_at)
      SELECT gen_random_uuid(), now() + interval '1 hour' FROM generate_series(1, 10000)`
    const [row] = await db().delivery.findMany({ where: { accountId: other.id } })
    const { not, by } = late('deliveries', row?.id ?? '')
    await expectFinding('deliveries', ['warning', 'deliveries_wait'], by(10), not)
    await expectFinding('deliveries', ['problem', 'deliveries_wait'], by(70), not)
  })

  test('of mails is reported, and so are mails given up', async () => {
    const to = { email: 'ana@troco.example', locale: null }
    await db().$transaction(tx => queueMail(tx, to, { kind: 'passwordReset', path: '/x' }))
    const { id } = await db().mail.findFirstOrThrow()
    const { not, by } = late('mails', id)
    await not()
    await expectFinding('mails', ['warning', 'mails_wait'], by(5), not)
    const set = (failedAt: Date | null) => () =>
      db().mail.updateMany({ where: { id }, data: { failedAt } })
    const expected: [string, string] = ['warning', 'mails_given_up']
    await expectFinding('mail_server', expected, set(new Date()), set(null))
    await db().mail.deleteMany()
  })

  test('of the search index is reported', async () => {
    await indexCharges(Date.now() + 60_000)
    const id = newRoutableId(merchant.id, new Date(Date.now() - 3_000_000))
    const scope = { accountId: merchant.id, mode: 'test' } as const
    const expiresAt = new Date(Date.now() + 60_000)
    const { client_name: clientName, client_email: clientEmail, client_doc: clientDoc } = CHARGE
    const terms = { amount: 500, externalId: id, txid: id, brCode: 'x', status: 'pending' }
    const payer = { clientName, clientEmail, clientDoc }
    const createdAt = new Date(Date.now() - 3_000_000)
    await db().chargeSearchMark.deleteMany({ where: scope })
    await db().charge.create({ data: { ...scope, id, ...terms, ...payer, expiresAt, createdAt } })
    expect(await readCheck('search')).toEqual(['problem', 'search_waits'])
    await indexCharges(Date.now() + 60_000)
    expect(await readCheck('search')).toEqual(['ok', 'queue_empty'])
  })
})

test('receivers are a warning if most deliveries fail, and not if few do', async () => {
  for (let count = 0; count < 10; count++)
    await createPaidCharge(merchant, 'http://127.0.0.1:9/hook')
  await deliverDue()
  expect(await readCheck('receivers')).toEqual(['warning', 'receivers_fail'])
  expect((await examineReceivers()).subjects).toEqual([
    { kind: 'account', id: merchant.id, name: 'Loja Saudável' },
  ])
  await db().$executeRaw`UPDATE delivery_attempts
    SET problem = NULL, problem_code = NULL, problem_params = NULL`
  expect(await readCheck('receivers')).toEqual(['ok', 'receivers_answer'])
  await db().$executeRaw`UPDATE delivery_attempts SET created_at = now() - interval '2 hours'`
  expect(await readCheck('receivers')).toEqual(['ok', 'receivers_quiet'])
})

test('a gateway that is down, fails or is slow is reported', async () => {
  expect(await readCheck('gateway')).toEqual(['ok', 'gateway_simulated'])
  const bank = new StubBank()
  const connectionId = await addConnection(bank, { name: 'Banco Azul' })
  const readBank = async () => {
    const { checks } = await readHealth()
    const { state, level } = checks.find(({ figures }) => figures.name === 'Banco Azul') ?? {}
    return [level, state]
  }
  const call = (outcome: string | null, tookMs: number) => db().$executeRaw`
    INSERT INTO gateway_calls (account_id, id, mode, connection_id, gateway, operation, subject_id,
      request, outcome, created_at, finished_at)
    SELECT ${merchant.id}::uuid, gen_random_uuid(), 'live', ${connectionId}::uuid, ${bank.name},
      'sendPayout',
      gen_random_uuid(), '{}', ${outcome}, now() - interval '1 minute', CASE
        WHEN ${outcome}::text IS NOT NULL THEN
          now() - interval '1 minute' + make_interval(secs => ${tookMs}::float8 / 1000) END
    FROM generate_series(1, 10)`
  const deleteCalls = () => db().gatewayCall.deleteMany()
  expect(await readBank()).toEqual(['ok', 'gateway_quiet'])
  await call('ok', 300)
  const { checks } = await readHealth()
  expect(checks.find(({ figures }) => figures.name === 'Banco Azul')).toMatchObject({
    state: 'gateway_answers',
    level: 'ok',
    figures: { name: 'Banco Azul', calls: 10, failed: 0, p50_ms: 300, p95_ms: 300 },
    subjects: [{ kind: 'bank', id: connectionId, name: 'Banco Azul' }],
  })
  for (const outcome of ['unknown', 'retryable', null]) {
    await deleteCalls()
    await call(outcome, 10)
    expect(await readBank()).toEqual(['warning', 'gateway_fails'])
  }
  await call('ok', 300)
  const { figures } =
    (await readHealth()).checks.find(check => check.figures.name === 'Banco Azul') ?? {}
  // The latency is that of the answers: 10 calls of 10 have failed sooner.
  expect(figures).toMatchObject({ calls: 20, failed: 10, p50_ms: 300 })
  await deleteCalls()
  await call('ok', 9_000)
  expect(await readBank()).toEqual(['warning', 'gateway_slow'])
  await deleteCalls()
  bank.checkHealth = async () => ({ outcome: 'unknown', reason: 'down' })
  expect(await readBank()).toEqual(['problem', 'gateway_down'])
  await deleteCalls()
  bank.checkHealth = () => new Promise(() => {})
  expect(await readBank()).toEqual(['problem', 'gateway_down'])
  expect(await readBank()).toEqual(['problem', 'gateway_down'])
  expect(await db().gatewayCall.count({ where: { connectionId } })).toBe(1)
  registerAdapter('efi', () => null)
  expect(await readBank()).toEqual(['warning', 'gateway_missing'])
  registerAdapter('efi', () => {
    throw new Error('the credentials are no certificate')
  })
  expect(await readBank()).toEqual(['warning', 'gateway_missing'])
  const data = { disabledAt: new Date(), isAssignable: false }
  await db().connection.update({ where: { id: connectionId }, data })
  registerAdapter('efi', () => null)
  expect(await readBank()).toEqual([undefined, undefined])
})

test('payouts that were sent an hour ago and have not ended are reported with their number and age', async () => {
  const id = await addConnection(new StubBank(), { name: 'Banco Cinza' })
  // Without a place: the bank does not have it, so that it waits to be sent again.
  const send = (minutes: number, slotUntil: Date | null = new Date()) => {
    const at = new Date(Date.now() - minutes * 60_000)
    const row = { mode: 'live', connectionId: id, dueAt: at, slotUntil, sentAt: at }
    return LISTS[1]?.insert(merchant.id, row)
  }
  const readLate = async () => {
    const { checks } = await readHealth()
    return checks.find(
      ({ figures, state }) => state === 'payouts_late' && figures.name === 'Banco Cinza',
    )
  }
  await send(59)
  expect(await readLate()).toBeUndefined()
  await send(61)
  await send(180, null)
  const late = await readLate()
  expect(late).toMatchObject({ level: 'warning', figures: { count: 2 } })
  expect(late?.figures.oldest_s).toBeGreaterThanOrEqual(180 * 60)
  await dropOrders()
  await db().withdrawal.deleteMany({ where: { connectionId: id } })
  registerAdapter('efi', () => null)
})

test('a connection that cannot be served is a problem while rows that began there have not ended', async () => {
  const id = await addConnection(new StubBank(), { name: 'Banco Roxo' })
  registerAdapter('efi', () => null)
  const readState = async () => {
    const { checks } = await readHealth()
    return checks.find(({ figures }) => figures.name === 'Banco Roxo')?.state
  }
  const data = { disabledAt: new Date(), isAssignable: false }
  await db().connection.update({ where: { id }, data })
  expect(await readState()).toBeUndefined()
  const [where, due] = [{ connectionId: id }, { mode: 'live', connectionId: id, dueAt: new Date() }]
  const [charges, withdrawals] = LISTS
  await charges?.insert(merchant.id, due)
  expect(await readState()).toBe('gateway_abandons')
  await db().charge.updateMany({ where, data: { dueAt: null } })
  expect(await readState()).toBeUndefined()
  await withdrawals?.insert(merchant.id, due)
  expect(await readState()).toBe('gateway_abandons')
  await dropOrders()
  expect(await readState()).toBeUndefined()
  await db().withdrawal.deleteMany({ where })
})

test('a bank that blocks calls or is not called is reported, until a call succeeds', async () => {
  const bank = new StubBank()
  bank.failuresMax = 2
  const id = await addConnection(bank, { name: 'Banco Verde' })
  const askBalance = () => withConnectionJournal({ id, gateway: bank }).getBalance?.()
  const readBank = async () => {
    const { checks } = await readHealth()
    return checks.filter(({ figures }) => figures.name === 'Banco Verde')
  }
  const blocked = { outcome: 'blocked', code: 'scope', reason: 'insufficient_scope' } as const
  bank.getBalance = async () => blocked
  await askBalance()
  expect(await readBank()).toMatchObject([
    { state: 'gateway_answers' },
    {
      level: 'problem',
      state: 'gateway_blocks',
      figures: { operation: 'getBalance', code: 'scope', reason: 'insufficient_scope' },
    },
  ])
  bank.getBalance = async () => ({ outcome: 'ok', value: { available: 1 } })
  await askBalance()
  expect(await readBank()).toMatchObject([{ state: 'gateway_answers' }])
  const checkSettings = async () => ({ outcome: 'unknown', reason: 'lost' }) as const
  const failing = withConnectionJournal({ id, gateway: Object.assign(bank, { checkSettings }) })
  for (let count = 0; count < 2; count++) await failing.checkSettings?.(false)
  expect(await readBank()).toMatchObject([
    { level: 'problem', state: 'gateway_rests', figures: { rest_s: expect.any(Number) } },
  ])
  registerAdapter('efi', () => null)
})

test('wrong balances are reported by account, and so are accounts not checked for hours', async () => {
  await checkLedgers()
  const setWrong = (wrong: string | null) => () =>
    db().ledgerCheck.updateMany({ where: { accountId: merchant.id }, data: { wrong } })
  await expectFinding('ledger', ['problem', 'books_wrong'], setWrong('x: y'), setWrong(null))
  await setWrong('x: y')()
  const { checks } = await readHealth()
  expect(checks.find(({ name }) => name === 'ledger')).toMatchObject({
    figures: { wrong: 1, names: `Loja Saudável (${merchant.id})` },
    subjects: [{ kind: 'account', id: merchant.id, name: 'Loja Saudável' }],
  })
  await setWrong(null)()
  const setCheckedAt = (checkedAt: Date) => () =>
    db().ledgerCheck.updateMany({ where: { accountId: merchant.id }, data: { checkedAt } })
  const old = new Date(Date.now() - 3 * 3_600_000)
  await expectFinding(
    'ledger',
    ['warning', 'books_unchecked'],
    setCheckedAt(old),
    setCheckedAt(new Date()),
  )
})

test('a waiting, failed or unknown migration is reported', async () => {
  const [last] = await db().$queryRaw<{ id: string }[]>`
    SELECT id FROM _prisma_migrations ORDER BY migration_name DESC LIMIT 1`
  const set = (finished: boolean, back: boolean) => () =>
    runAsOwner(
      `UPDATE _prisma_migrations SET finished_at = CASE WHEN ${finished} THEN now() END,
         rolled_back_at = CASE WHEN ${back} THEN now() END WHERE id = '${last?.id}'`,
    )
  const applied = set(true, false)
  const problem = (state: string): [string, string] => ['problem', state]
  await expectFinding('migrations', problem('migrations_wait'), set(true, true), applied)
  await expectFinding('migrations', problem('migration_failed'), set(false, false), applied)
  const addNewer = (logs: string | null) => () =>
    runAsOwner(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, logs)
       VALUES ('newer', 'x', '29990101000000_newer', now(), ${logs ? `'${logs}'` : 'NULL'})`,
    )
  const removeNewer = () => runAsOwner(`DELETE FROM _prisma_migrations WHERE id = 'newer'`)
  await expectFinding('migrations', problem('database_newer'), addNewer(null), removeNewer)
  const fits = addNewer('runs with versions that have: ')
  await expectFinding('migrations', ['warning', 'version_older'], fits, removeNewer)
  const needsMore = addNewer('runs with versions that have: 29980101000000_unknown')
  await expectFinding('migrations', problem('database_newer'), needsMore, removeNewer)
})

test('a database without durable commits is a problem', () => {
  const settings = {
    versionNumber: 180_000,
    fsync: 'on',
    fullPageWrites: 'on',
    synchronousCommit: 'on',
  }
  expect(assessDurability(settings)).toMatchObject({ level: 'ok', state: 'durable' })
  for (const name of ['fsync', 'fullPageWrites', 'synchronousCommit'] as const) {
    const { level, state } = assessDurability({ ...settings, [name]: 'off' })
    expect([level, state], name).toEqual(['problem', 'not_durable'])
  }
})

test('a long transaction is reported with its age', async () => {
  const otherClient = connect({ poolMax: 1 })
  let end = () => {}
  const begun = new Promise<void>(resolve => {
    const ended = new Promise<void>(resolveEnd => {
      end = resolveEnd
    })
    otherClient
      .$transaction(
        async tx => {
          await tx.$executeRaw`SELECT 1`
          resolve()
          await ended
        },
        { timeout: 20_000 },
      )
      .catch(() => {})
  })
  await begun
  const age = async () => {
    const { checks } = await readHealth()
    return Number(checks.find(({ name }) => name === 'transactions')?.figures.longest_s)
  }
  await expect.poll(age, { timeout: 5_000 }).toBeGreaterThanOrEqual(1)
  end()
  await expect.poll(age, { timeout: 5_000 }).toBe(0)
  await otherClient.$disconnect()
})

describe('in production', () => {
  const { TROCO_ENV, PUBLIC_URL } = env()

  test('a missing mail server, plain http and admins without a second factor are warnings', async () => {
    const email = `staff-${newId()}@troco.example`
    const staff = { id: newId(), email, name: email, isAdmin: true }
    await db().user.create({ data: staff })
    for (const name of ['mail_server', 'address'] as const)
      expect((await readCheck(name))[0]).toBe('ok')
    expect(await readCheck('staff')).toEqual(['warning', 'staff_local'])
    supplyEnv({ TROCO_ENV: 'production', PUBLIC_URL: 'http://localhost:3000' })
    expect(await readCheck('mail_server')).toEqual(['warning', 'no_mail_server'])
    expect(await readCheck('address')).toEqual(['warning', 'address_plain'])
    expect(await readCheck('staff')).toEqual(['warning', 'staff_unguarded'])
    supplyEnv({ PUBLIC_URL: 'https://troco.example', SMTP_URL: 'smtp://localhost:25' })
    await db().passkey.create({
      data: {
        id: newId(),
        userId: staff.id,
        credentialId: newId(),
        name: 'a key',
        counter: 0,
        publicKey: new Uint8Array(1),
      },
    })
    expect(await readCheck('mail_server')).toEqual(['ok', 'mail_set'])
    expect(await readCheck('address')).toEqual(['ok', 'address_sure'])
    expect(await readCheck('staff')).toEqual(['ok', 'staff_guarded'])
    supplyEnv({ TROCO_ENV, PUBLIC_URL, SMTP_URL: '' })
  })
})

test('the tokens with the most requests and the largest tables are named', async () => {
  const request = { accountId: merchant.id, mode: 'test' as const, permissions: [...PERMISSIONS] }
  await issueToken({ ...request, name: 'Robô' }, { type: 'system' })
  const { id } = await db().token.findFirstOrThrow({ where: { name: 'Robô' } })
  await db().$executeRaw`SELECT troco_rotate_request_log()`
  for (let nth = 0; nth < 3; nth++)
    await db().$executeRaw`
      INSERT INTO request_log (account_id, id, mode, token_id, method, path, status, duration_us,
        request_id, response_bytes, created_at)
      VALUES (${merchant.id}::uuid, ${newId()}::uuid, 'test', ${id}::uuid, 'GET', '/api/account', 429, 1,
        '', 1, now())`
  expect((await examineTokens()).figures.busiest).toBe('Robô (Loja Saudável) 3')
  const database = (await readHealth()).checks.find(({ name }) => name === 'database')
  expect(database?.figures.names).toMatch(/^\w+ \d+ \w+(, \w+ \d+ \w+)+$/)
})

test('tokens above the present role of their issuer are a warning that names them', async () => {
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId: merchant.id } })
  const request = { accountId: merchant.id, mode: 'test' as const, permissions: [...PERMISSIONS] }
  const setRole = (role: string) =>
    db().membership.updateMany({ where: { accountId: merchant.id }, data: { role } })
  await issueToken({ ...request, name: 'Da equipe' }, { type: 'system' })
  const owner = { type: 'user', id: userId } as const
  await issueToken({ ...request, name: 'Painel', permissions: ['account:read'] }, owner)
  await issueToken({ ...request, name: 'ERP' }, owner)
  await expectFinding(
    'tokens',
    ['warning', 'tokens_exceed'],
    async () => {
      await setRole('developer')
      const { checks } = await readHealth()
      const found = {
        figures: { exceeding: 1, names: 'ERP (Loja Saudável)' },
        subjects: [{ kind: 'account', id: merchant.id, name: 'Loja Saudável' }],
      }
      expect(checks.find(({ name }) => name === 'tokens')).toMatchObject(found)
      expect(await examineTokens(1)).toMatchObject(found)
    },
    () => setRole('owner'),
  )
})

test('a role that owns the tables, or has more than it needs, is a warning', async () => {
  expect(await readCheck('roles')).toEqual(['ok', 'role_limited'])
  const url = env().DATABASE_URL ?? ''
  await runAsOwner('GRANT UPDATE ON events TO PUBLIC')
  const { checks } = await readHealth()
  expect(checks.find(({ name }) => name === 'roles')).toMatchObject({
    level: 'warning',
    state: 'role_excessive',
    figures: { names: 'UPDATE on events' },
  })
  await prepareDatabase({ url, ownerUrl: ownerUrlOf() })
  expect(await readCheck('roles')).toEqual(['ok', 'role_limited'])
  await disconnect()
  supplyEnv({ DATABASE_URL: ownerUrlOf(url) })
  expect(await readCheck('roles')).toEqual(['warning', 'role_owner'])
  await disconnect()
  supplyEnv({ DATABASE_URL: url })
})

test('a check that cannot be read does not hide the others', async () => {
  await runAsOwner('ALTER TABLE mails RENAME TO mails_gone')
  const { checks } = await readHealth()
  await runAsOwner('ALTER TABLE mails_gone RENAME TO mails')
  const states = Object.fromEntries(checks.map(({ name, state }) => [name, state]))
  expect(states).toMatchObject({ mails: 'unreadable', mail_server: 'unreadable' })
  expect(states).toMatchObject({ workers: 'workers_alive', database: 'database_stands' })
})

test('losing the database during the checks causes no unhandled rejection', async () => {
  const DATABASE_URL = env().DATABASE_URL ?? ''
  const loseDatabase = () => {
    const later = performance.now() + 60_000
    vi.spyOn(performance, 'now').mockReturnValue(later)
    supplyEnv({ DATABASE_URL: 'postgres://127.0.0.1:1/none' })
    void disconnect()
    return simulator
  }
  const rejections: unknown[] = []
  const recordRejection = (reason: unknown) => rejections.push(reason)
  process.on('unhandledRejection', recordRejection)
  try {
    registerAdapter('simulator', loseDatabase)
    const { checks } = await readHealth()
    expect(checks.find(({ name }) => name === 'connections')?.state).toBe('unreadable')
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(rejections).toEqual([])
  } finally {
    unregisterAdapters()
    process.off('unhandledRejection', recordRejection)
    vi.restoreAllMocks()
    await disconnect()
    supplyEnv({ DATABASE_URL })
  }
})
