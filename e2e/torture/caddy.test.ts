import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startCreations } from '#e2e/torture/creations.ts'
import { pickSize, recordFigures } from '#e2e/torture/figures.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { env, inheritedEnv, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { findProgram } from '#lib/testing/debian.ts'
import { CHARGE, inOwnDatabase, makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { startWebProcess } from '#lib/testing/web-process.ts'
import type { WorkerProcess } from '#lib/testing/worker-process.ts'

/** Installed only by `npm run torture`, and only as root on Debian. */
const program = pickSize(0, 1) === 1 ? await findProgram('caddy', ['caddy']) : null

inOwnDatabase()

describe.skipIf(!program)('behind Caddy, as compose.yaml sets it up', () => {
  const folder = makeScratchFolder('troco-caddy-')
  const webs = new Map<number, WorkerProcess>()
  let [url, token] = ['', '']
  let merchant: Account
  let caddy: ChildProcess
  let authority: Buffer
  let session: ClientHttp2Session

  const startWeb = async (port: number) => {
    const { DATABASE_URL = '' } = env()
    const settings = {
      DATABASE_URL,
      DATABASE_OWNER_URL: ownerUrlOf(DATABASE_URL),
      MIGRATE: 'false',
      PORT: `${port}`,
      HOST: '127.0.0.1',
      PUBLIC_URL: url,
      TROCO_DATA: folder,
      NODE_ENV: 'production',
      DRAIN_SECONDS: '3',
      TRUST_PROXY: '1',
      WORKER: 'false',
      RATE_TOKEN_PER_SECOND: '0',
      RATE_IP_PER_SECOND: '0',
    }
    webs.set(port, await startWebProcess(settings))
  }

  /** Its own authority signs the certificate of `localhost`. Without the API of Caddy, whose port is fixed. */
  async function startCaddy(ports: number[]): Promise<void> {
    const httpPort = await findFreePort()
    const site = readFileSync('docs/compose/Caddyfile', 'utf8')
    const upstreams = ports.map(port => `127.0.0.1:${port}`).join(' ')
    const file = join(folder, 'Caddyfile')
    const options = `{\n  admin off\n  skip_install_trust\n  http_port ${httpPort}\n}\n`
    writeFileSync(file, options + site.replace('web1:3000 web2:3000', upstreams))
    caddy = spawn(program ?? '', ['run', '--config', file], {
      stdio: 'ignore',
      env: {
        ...inheritedEnv(),
        PUBLIC_URL: url,
        XDG_DATA_HOME: folder,
        XDG_CONFIG_HOME: folder,
        HOME: folder,
      },
    })
    const certificate = join(folder, 'caddy/pki/authorities/local/root.crt')
    session = await vi.waitFor(
      async () => {
        authority = readFileSync(certificate)
        const opened = connect(url, { ca: authority })
        await once(opened, 'connect')
        return opened
      },
      { timeout: 30_000 },
    )
  }

  beforeAll(async () => {
    url = `https://localhost:${await findFreePort()}`
    supplyEnv({ PUBLIC_URL: url })
    merchant = await makeMerchant()
    token = await makeToken(merchant.id)
    const ports = [await findFreePort(), await findFreePort()]
    await Promise.all(ports.map(startWeb))
    await startCaddy(ports)
  })
  afterAll(async () => {
    session?.close()
    if (caddy) {
      const ended = once(caddy, 'exit')
      caddy.kill('SIGTERM')
      await ended
    }
    await Promise.all([...webs.values()].map(web => web.kill()))
    rmSync(folder, { recursive: true, force: true })
  })

  /** Sends a request by HTTP/2, as browsers do. */
  async function send(path: string, headers: Record<string, string> = {}, body?: object) {
    const method = body ? 'POST' : 'GET'
    const stream = session.request({ ':path': path, ':method': method, ...headers })
    stream.end(body ? JSON.stringify(body) : undefined)
    const [received] = await once(stream, 'response')
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk)
    return { status: received[':status'], headers: received, bytes: Buffer.concat(chunks) }
  }
  const withToken = () => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })

  async function createCharge(): Promise<{ transaction_id: string; ip: string }> {
    const forged = { ...withToken(), 'x-forwarded-for': '203.0.113.7' }
    const { status, bytes } = await send('/api/transactions', forged, CHARGE)
    expect(status, `${bytes}`).toBe(200)
    const { transaction_id } = JSON.parse(`${bytes}`).data
    const read = await send(`/api/transactions/${transaction_id}`, withToken())
    return JSON.parse(`${read.bytes}`).data
  }

  test('an address that a client claims in X-Forwarded-For is not believed', async () => {
    expect((await createCharge()).ip).toMatch(/^(127\.0\.0\.1|::1)$/)
  })

  test('a page comes compressed once, and its script as it was compressed by the build', async () => {
    const page = await send('/login', { 'accept-encoding': 'gzip, br' })
    expect([page.status, page.headers['content-encoding']]).toEqual([200, 'gzip'])
    const [script = ''] = /\/_next\/static\/[^"]+\.js/.exec(`${gunzipSync(page.bytes)}`) ?? []
    const loaded = await send(script, { 'accept-encoding': 'gzip, br' })
    expect([loaded.status, loaded.headers['content-encoding']]).toEqual([200, 'br'])
    expect(page.headers['strict-transport-security']).toBeTruthy()
  })

  test('a live page hears of a payment while the response is open', async () => {
    const { transaction_id: id } = await createCharge()
    const headers = pageHeaders(await signIn(merchant, 'viewer'), merchant.id)
    const stream = session.request({ ':path': `/api/dashboard/charges/${id}/live`, ...headers })
    let heard = ''
    stream.on('data', chunk => {
      heard += chunk
    })
    await expect.poll(() => heard).toContain('pending')
    await send(`/api/sandbox/transactions/${id}`, withToken(), { outcome: 'paid' })
    await expect.poll(() => heard).toContain('"paid"')
    stream.close()
  })

  test('a roll of both web servers fails no request', async () => {
    const before = await db().charge.count({ where: { accountId: merchant.id } })
    const creations = startCreations(url, token, authority)
    for (const [port, web] of webs) {
      expect(await web.stop()).toBe(0)
      await startWeb(port)
    }
    const { begun, outcomes } = await creations.end()
    recordFigures('a roll behind Caddy', outcomes)
    expect(outcomes).toEqual({ 200: begun })
    expect(await db().charge.count({ where: { accountId: merchant.id } })).toBe(before + begun)
  }, 300_000)
})
