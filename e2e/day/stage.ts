import { setTimeout as sleep } from 'node:timers/promises'
import { openAt, settingsAt } from '#e2e/banks/open.ts'
import { Api } from '#e2e/day/api.ts'
import type { Payee } from '#e2e/psp/settings.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import { assignConnections } from '#lib/accounts/connections.ts'
import { checkConnection } from '#lib/banks/connections.ts'
import { restrictNotices } from '#lib/banks/notice-address.ts'
import { registerNoticeAddress } from '#lib/banks/notices.ts'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { makeDatabase, makeMerchant, makeToken, runAsOwner } from '#lib/testing/fixtures.ts'
import { startNginx } from '#lib/testing/nginx.ts'
import { findFreePort, PATIENCE_MS } from '#lib/testing/server.ts'

const ACTOR = { type: 'command_line' } as const
const PAYING_KEY = 'caixa@example.com'
const OPENING_BALANCE = 10_000_000
/** With one slot, as is the default, a payout would take a second or more. */
const PAYOUTS_IN_FLIGHT = 16

/** The same limits as in production, which `npm test` turns off for others. */
const LIMITS = [
  'RATE_TOKEN_PER_SECOND',
  'RATE_IP_PER_SECOND',
  'RATE_TOKEN_IN_FLIGHT',
  'RATE_IP_IN_FLIGHT',
  'RATE_FAILED_BEARERS_PER_MINUTE',
]

export interface Merchant {
  id: string
  token: string
}

/** A production-like start beside a test bank, with accounts whose live mode is open. */
export interface Stage<Server> {
  bank: RunningBank
  connectionId: string
  merchants: Merchant[]
  /** Sends its requests to nginx. */
  api: Api
  server: Server
  close: () => Promise<void>
}

interface Wish<Server> {
  accounts: number
  payees: Record<string, Payee>
  /** Starts what serves and works behind nginx, with these settings. */
  serve: (settings: Record<string, string>) => Promise<Server>
}

export async function openStage<Server extends { stop: () => Promise<void> }>(
  wish: Wish<Server>,
): Promise<Stage<Server>> {
  const opened = new AsyncDisposableStack()
  try {
    const stage = await open(wish, opened)
    return { ...stage, close: () => opened.disposeAsync() }
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

async function open<Server extends { stop: () => Promise<void> }>(
  { accounts, payees, serve }: Wish<Server>,
  opened: AsyncDisposableStack,
): Promise<Omit<Stage<Server>, 'close'>> {
  const [port, trocoPort] = [await findFreePort(), await findFreePort()]
  const publicUrl = `https://127.0.0.1:${port}`
  const settings = await enterInstallation(publicUrl, opened)
  const startingBank = startBank({
    kind: 'efi',
    keys: [newId(), PAYING_KEY],
    openingBalance: OPENING_BALANCE,
    payees,
  })
  const startingServer = serve({
    ...settings,
    TROCO_ENV: 'production',
    NODE_ENV: 'production',
    PORT: String(trocoPort),
    DATABASE_OWNER_URL: ownerUrlOf(),
    BANK_ALLOW_CIDRS: '127.0.0.0/8',
    ...Object.fromEntries(LIMITS.map(name => [name, ''])),
  })
  for (const starting of [startingBank, startingServer]) {
    opened.defer(async () => {
      await (await starting.catch(() => null))?.stop()
    })
  }
  const [bank, server, merchants] = await Promise.all([
    startingBank,
    startingServer,
    addMerchants(accounts),
  ])
  const { receiver, authority } = bank.certificates
  const places = { port, trocoPort, server: receiver, authorities: authority.cert }
  const nginx = await startNginx(places)
  opened.defer(() => nginx.stop())
  const connectionId = await connect(bank)
  const assigned = { receiving_id: connectionId, paying_id: connectionId }
  await Promise.all(merchants.map(({ id }) => assignConnections(id, assigned, ACTOR)))
  const api = new Api(publicUrl, authority.cert)
  opened.defer(() => api.close())
  return { bank, connectionId, merchants, api, server }
}

/** Lets this process work as a part of a new installation, until the stack is disposed of. */
async function enterInstallation(publicUrl: string, opened: AsyncDisposableStack) {
  const { DATABASE_URL = '', PUBLIC_URL, DATABASE_TIMEOUT_MS } = env()
  const before = { DATABASE_URL, PUBLIC_URL, DATABASE_TIMEOUT_MS: `${DATABASE_TIMEOUT_MS}` }
  const settings = {
    DATABASE_URL: await makeDatabase(),
    PUBLIC_URL: publicUrl,
    DATABASE_TIMEOUT_MS: PATIENCE_MS,
    TRUST_PROXY: '1',
    CLIENT_CERTIFICATE_HEADER: 'X-Client-Verify',
  }
  supplyEnv(settings)
  opened.defer(async () => {
    supplyEnv({ ...before, TRUST_PROXY: '', CLIENT_CERTIFICATE_HEADER: '' })
  })
  return settings
}

/** As the operator does: adds and checks the connection, and has its notices arrive with a certificate. */
async function connect(bank: RunningBank): Promise<string> {
  const { id } = await openAt(bank, {
    kind: 'efi',
    receiving_keys: bank.keys.slice(0, 1),
    paying_key: PAYING_KEY,
    settings: { ...settingsAt(bank), payouts_in_flight: PAYOUTS_IN_FLIGHT },
  })
  await restrictNotices(id, { isCertificateRequired: true }, ACTOR)
  // The server may have read the connection before: a rule acts within a second in other processes.
  let registered = await registerNoticeAddress(id, { type: 'system' })
  for (let attempt = 0; registered?.outcome !== 'ok' && attempt < 20; attempt++) {
    await sleep(250)
    registered = await registerNoticeAddress(id, { type: 'system' })
  }
  if (registered?.outcome !== 'ok') throw new Error(JSON.stringify(registered))
  const { code, findings } = await checkConnection(id, ACTOR)
  if (code !== 'ok') throw new Error(`The check is not passed: ${JSON.stringify(findings)}`)
  // Nothing is listed from before a connection, and a bank may write the local time as UTC.
  await runAsOwner(`UPDATE connections SET created_at = created_at - interval '1 day'`)
  return id
}

/** One after the other: meanwhile the server and the bank start on the same cores. */
async function addMerchants(count: number): Promise<Merchant[]> {
  const merchants: Merchant[] = []
  while (merchants.length < count) {
    const { id } = await makeMerchant()
    merchants.push({ id, token: await makeToken(id, { mode: 'live' }) })
  }
  return merchants
}
