#!/usr/bin/env node
/**
 * Starts Troco with its simulated bank for the tests of a program that uses it, or joins the one that another test
 * file has started. Needs a checkout of Troco with its packages (`npm ci`), and no network.
 */
const { spawn } = require('node:child_process')
const fs = require('node:fs')
const http = require('node:http')
const path = require('node:path')

/** @typedef {{ url: string, pid: number }} Address */

const START_MS = 60_000
const POLL_MS = 20

/** @param {{ folder?: string }} [options] */
async function startTroco({ folder = path.resolve(__dirname, '../..') } = {}) {
  const { url, alive } = await join(folder)
  return {
    url,
    api: `${url}/api`,
    /** @param {{ balance?: number, name?: string }} [options] */
    account: async options => openShop(url, options ?? {}),
    async close() {
      alive.destroy()
    },
  }
}

/** Finds the running server, or starts it: of several test files that begin at once, one does. */
async function join(folder) {
  const state = path.resolve(process.env.TROCO_TESTING_DATA ?? path.join(folder, '.cache/testing'))
  const file = path.join(state, 'server.json')
  const lock = path.join(state, 'starting')
  fs.mkdirSync(state, { recursive: true })
  const deadline = Date.now() + START_MS
  for (;;) {
    const joined = await connect(readAddress(file))
    if (joined) return joined
    if (take(lock)) {
      try {
        // Another may have started it just before.
        const other = await connect(readAddress(file))
        if (other) return other
        const address = await start(folder, state)
        fs.writeFileSync(`${file}.${process.pid}`, JSON.stringify(address), { mode: 0o600 })
        fs.renameSync(`${file}.${process.pid}`, file)
        const started = await connect(address)
        if (started) return started
      } finally {
        fs.rmSync(lock, { force: true })
      }
    }
    if (Date.now() > deadline) throw new Error(`Troco did not start within ${START_MS / 1000} s`)
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
}

/** Whether this process now holds the lock. One whose process died is removed. */
function take(lock) {
  try {
    fs.writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  try {
    process.kill(Number(fs.readFileSync(lock, 'utf8')), 0)
  } catch (error) {
    if (error.code === 'ESRCH') fs.rmSync(lock, { force: true })
  }
  return false
}

/** @returns {Address | null} */
function readAddress(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

/** Holds a connection, whose end tells the server that this process has ended, even if it was killed. */
function connect(address) {
  if (!address) return null
  return new Promise(resolve => {
    const request = http.get(`${address.url}/testing/alive`, { agent: false }, response => {
      response.resume()
      response.on('error', () => {})
      request.socket?.unref()
      resolve({ url: address.url, alive: request })
    })
    request.on('error', () => resolve(null))
  })
}

/** @returns {Promise<Address>} */
function start(folder, state) {
  const child = spawn(findNode(folder), [...FLAGS, 'bin/testing.ts'], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...Object.fromEntries(PASSED.map(name => [name, process.env[name]])),
      TROCO_TESTING_DATA: state,
      NODE_ENV: 'production',
      NODE_OPTIONS: '',
      NODE_COMPILE_CACHE: path.join(folder, '.cache/compile'),
    },
  })
  return new Promise((resolve, reject) => {
    let output = ''
    child.stderr.on('data', text => {
      output += text
    })
    child.stdout.once('data', line => {
      for (const stream of [child.stdout, child.stderr]) stream.destroy()
      child.unref()
      resolve(JSON.parse(line))
    })
    child.on('error', reject)
    child.on('exit', code => reject(new Error(`Troco ended with ${code}: ${output.trim()}`)))
  })
}

/** Other variables are settings of the program under test, such as its databases and mail server. */
const PASSED = ['PATH', 'HOME', 'USER', 'TMPDIR', 'LD_LIBRARY_PATH', 'TZ']
const FLAGS = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=16']

/** The Node that Troco is pinned to; tests run on any from 20. */
function findNode(folder) {
  const pinned = path.join(folder, 'node_modules/.bin/node')
  if (fs.existsSync(pinned)) return pinned
  throw new Error(`Troco's packages are missing: run npm ci in ${folder}`)
}

async function openShop(url, options) {
  const shop = await call(url, 'POST', '/testing/accounts', options)
  const control = (method, action, body) =>
    call(url, method, `/testing/accounts/${shop.id}/${action}`, body)
  const sandbox = (resource, body) => callApi(shop, 'POST', `/sandbox/${resource}`, body)
  const of = id => encodeURIComponent(id)
  return {
    ...shop,
    webhookSecret: shop.webhook_secret,
    pay: id => sandbox(`transactions/${of(id)}`, { outcome: 'paid' }),
    expire: id => sandbox(`transactions/${of(id)}`, { outcome: 'expired' }),
    fail: id => sandbox(`transactions/${of(id)}`, { outcome: 'failed' }),
    complete: refundId => sandbox(`refunds/${of(refundId)}`, { outcome: 'completed' }),
    refuse: refundId => sandbox(`refunds/${of(refundId)}`, { outcome: 'rejected' }),
    approve: id => sandbox(`withdrawals/${of(id)}`, { outcome: 'approved' }),
    reject: (id, reason) => sandbox(`withdrawals/${of(id)}`, { outcome: 'rejected', reason }),
    returnWithdrawal: (id, amount) =>
      sandbox(`withdrawals/${of(id)}`, { outcome: 'returned', amount }),
    dispute: (id, amount) => sandbox(`transactions/${of(id)}/disputes`, { amount }),
    closeDispute: (id, outcome) => sandbox(`disputes/${of(id)}`, { outcome }),
    bank: {
      down: () => control('POST', 'bank', { state: 'down' }),
      up: () => control('POST', 'bank', { state: 'up' }),
    },
    clock: { advance: duration => sandbox('clock', { advance: duration }) },
    fault: fault => control('POST', 'faults', fault),
    webhooks: {
      next: (type, { timeoutMs = 10_000 } = {}) => {
        const query = new URLSearchParams({ ...(type && { type }), timeout_ms: String(timeoutMs) })
        return control('GET', `webhooks/next?${query}`)
      },
      forwardTo: to => control('POST', 'webhooks', { forward_to: to }),
      duplicate: (count = 1) => control('POST', 'webhooks', { duplicate: count }),
      reorder: (count = 1) => control('POST', 'webhooks', { reorder: count }),
      drop: (count = 1) => control('POST', 'webhooks', { drop: count }),
      tamper: (count = 1) => control('POST', 'webhooks', { tamper: count }),
    },
    async assertLedger() {
      const { violations } = await control('GET', 'ledger')
      if (violations.length > 0)
        throw new Error(`The ledger is wrong: ${JSON.stringify(violations)}`)
    },
  }
}

async function callApi(shop, method, path, body) {
  const { data } = await call(shop.url, method, `/api${path}`, body, {
    authorization: `Bearer ${shop.token}`,
  })
  return data
}

/** With node:http, because test environments such as jsdom replace fetch. */
function call(url, method, path, body, headers = {}) {
  const text = body === undefined ? '' : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const request = http.request(
      url + path,
      {
        method,
        agent: false,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
          ...headers,
        },
      },
      response => {
        const chunks = []
        response.on('data', chunk => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString()
          if (response.statusCode === 200) return resolve(JSON.parse(answer))
          reject(new Error(`${method} ${path}: ${response.statusCode} ${answer}`))
        })
      },
    )
    request.on('error', reject)
    request.end(text)
  })
}

module.exports = { startTroco }

// Started as a program, for tests in other languages: prints the address, and ends with its standard input.
if (require.main === module) {
  startTroco().then(
    ({ url, api, close }) => {
      process.stdout.write(`${JSON.stringify({ url, api })}\n`)
      process.stdin.resume().on('end', close)
    },
    error => {
      process.stderr.write(`${error.message}\n`)
      process.exitCode = 1
    },
  )
}
