import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAt } from '#e2e/banks/open.ts'
import type { KeyPair } from '#e2e/psp/certificates.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { readNoticeAddress } from '#lib/banks/notice-address.ts'
import { registerNoticeAddress } from '#lib/banks/notices.ts'
import { PACES } from '#lib/charges/read-payments.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { type ApiProcess, startApiProcess } from '#lib/testing/api-process.ts'
import { assignConnection } from '#lib/testing/connection.ts'
import { makeDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { type Nginx, startNginx } from '#lib/testing/nginx.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { startWorkerProcess, type WorkerProcess } from '#lib/testing/worker-process.ts'

export interface Posted {
  status: number
  text: string
  headers: NodeJS.Dict<string | string[]>
}

export interface PostOptions {
  /** The client's certificate. Default: that of the bank; null: none. */
  pair?: KeyPair | null
  method?: string
  headers?: Record<string, string>
}

/** A bank, nginx that verifies its certificate, the API behind it, and a worker: each its own process. */
export interface NoticeStage {
  bank: RunningBank
  nginx: Nginx
  web: ApiProcess
  merchant: Account
  connectionId: string
  /** The address that the bank has; its path contains the secret. */
  address: URL
  /** Sends a notice by way of nginx. */
  post: (path: string, body: string | Buffer, options?: PostOptions) => Promise<Posted>
  readLogs: () => string
  readWorkerLog: () => string
  close: () => Promise<void>
}

/** Addresses without a secret are limited as in production, only sooner. */
const LIMITS = { RATE_IP_PER_SECOND: '40', RATE_IP_BURST: '40' }

export async function openNoticeStage(): Promise<NoticeStage> {
  const folder = mkdtempSync(join(tmpdir(), 'notices-'))
  const sharedEnv = { DATABASE_URL: env().DATABASE_URL ?? '', PUBLIC_URL: env().PUBLIC_URL }
  const port = await findFreePort()
  const settings = {
    DATABASE_URL: await makeDatabase(),
    PUBLIC_URL: `https://127.0.0.1:${port}`,
    TRUST_PROXY: '1',
    CLIENT_CERTIFICATE_HEADER: 'X-Client-Verify',
  }
  supplyEnv(settings)
  const workerLog = join(folder, 'worker.log')
  const readWorkerLog = () => (existsSync(workerLog) ? readFileSync(workerLog, 'utf8') : '')
  const bank = await startBank({ ownerName: 'Padaria do Teste' })
  // Before the worker starts, which reads of later connections only after 5 s.
  const { id: connectionId } = await openAt(bank)
  await stopLists(connectionId)
  const [web, worker, merchant] = await Promise.all([
    startApiProcess({ ...settings, ...LIMITS }),
    startWorkerProcess({ ...settings, LOG_FILE: workerLog }),
    makeMerchant(),
  ])
  const { receiver, authority } = bank.certificates
  const places = { port, trocoPort: web.port, server: receiver, authorities: authority.cert }
  const nginx = await startNginx(places)
  await assignConnection(connectionId, merchant)
  await registerNoticeAddress(connectionId, { type: 'system' })
  const agents = new Map<string, Agent>()
  return {
    bank,
    nginx,
    web,
    merchant,
    connectionId,
    address: new URL(await readNoticeAddress(connectionId)),
    post: (path, body, options) =>
      post(bank, agents, new URL(path, settings.PUBLIC_URL), body, options),
    readLogs: () => [nginx.output(), web.readLog(), web.output(), readWorkerLog()].join('\n'),
    readWorkerLog,
    async close() {
      for (const agent of agents.values()) agent.destroy()
      await closeAll(bank, nginx, web, worker)
      await disconnect()
      supplyEnv({ ...sharedEnv, TRUST_PROXY: '', CLIENT_CERTIFICATE_HEADER: '' })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** From now on the list of payments is read only if a notice makes it due. */
async function stopLists(connectionId: string): Promise<void> {
  const row = { connectionId, readUntil: new Date(), dueAt: new Date('2100-01-01') }
  const data = Object.keys(PACES).map(pace => ({ ...row, pace }))
  await db().paymentReading.createMany({ data })
}

async function closeAll(bank: RunningBank, nginx: Nginx, web: ApiProcess, worker: WorkerProcess) {
  await Promise.all([worker.kill(), web.close(), nginx.stop(), bank.stop()])
}

function post(
  { certificates }: RunningBank,
  agents: Map<string, Agent>,
  url: URL,
  body: string | Buffer,
  { pair = certificates.notices, method = 'POST', headers = {} }: PostOptions = {},
): Promise<Posted> {
  const name = pair?.cert ?? ''
  const identity = pair && { cert: readFileSync(pair.cert), key: readFileSync(pair.key) }
  const ca = readFileSync(certificates.authority.cert)
  const agent = agents.get(name) ?? new Agent({ keepAlive: true, ca, ...identity })
  agents.set(name, agent)
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent, headers }, async response => {
      try {
        const text = Buffer.concat(await response.toArray()).toString()
        resolve({ status: response.statusCode ?? 0, text, headers: response.headers })
      } catch (error) {
        reject(error)
      }
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
