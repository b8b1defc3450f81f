import { execFileSync } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { ApiError, requireTestToken, UsageError } from './api.mjs'
import {
  findEvents,
  followEvents,
  readFeed,
  readSequence,
  readTypes,
  SEARCH_MAX,
} from './events.mjs'
import { green, printEvent, printNote, red } from './output.mjs'

/** Troco's own time limit for a receiver. */
const RECEIVER_TIMEOUT_MS = 15_000
const SECRET_PREFIX = 'whsec_'

/**
 * Sends each new event, or each after a sequence number, to a program on this machine: body and headers are those of
 * an endpoint's webhook.
 */
export async function forwardEvents(api, { types, after, ...options }) {
  const forward = createForwarding(api, 'listen', options)
  const start = readSequence(after)
  const wanted = await readTypes(api, types)
  const { last, epoch } = await readFeed(api)
  const from = start === undefined ? 'new events' : `the events after ${start}`
  printNote(`Forwarding ${from} to ${forward.target}. They are signed with`)
  printNote(forward.secret)
  const position = { after: start ?? last, epoch, onlyNew: start === undefined }
  let latest
  const stopKeys = readKeys({
    r: async () => {
      if (latest) await forward.send(latest)
      else printNote('No event has been sent yet')
    },
  })
  if (stopKeys) printNote('Press r to send the last event again')
  try {
    for await (const found of followEvents(api, { ...position, wanted })) {
      latest = found
      await forward.send(found)
    }
  } finally {
    stopKeys?.()
  }
}

const CTRL_C = '\u0003'
const CTRL_Z = '\u001a'

/**
 * Calls what belongs to a pressed key, while this program is in the foreground of a terminal: the terminal would stop a
 * program in the background that reads keys. Returns how to stop; null without a terminal in front.
 */
function readKeys(actions) {
  const { stdin } = process
  if (!stdin.isTTY || !isInForeground()) return null
  const press = data => {
    for (const key of String(data)) {
      // Reading single keys means that the terminal sends no signals.
      if (key === CTRL_C) process.kill(process.pid, 'SIGINT')
      else if (key === CTRL_Z) suspend()
      else actions[key]?.()
    }
  }
  const begin = () => {
    stdin.setRawMode(true)
    stdin.on('data', press).resume()
  }
  const stop = () => {
    stdin.off('data', press).pause()
    stdin.setRawMode(false)
  }
  const suspend = () => {
    stop()
    // Also for what started it, such as npx.
    process.kill(0, 'SIGTSTP')
  }
  process.on('SIGCONT', () => isInForeground() && !stdin.isRaw && begin())
  begin()
  return stop
}

/** Whether the terminal belongs to the group of this process. */
function isInForeground() {
  if (process.platform === 'win32') return true
  try {
    // After the name: state, parent, group, session, terminal, group in the foreground of the terminal.
    const [, , group, , , foreground] = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return group === foreground
  } catch {
    return execFileSync('ps', ['-o', 'stat=', '-p', String(process.pid)], {
      encoding: 'utf8',
    }).includes('+')
  }
}

/** Sends the events of one charge or withdrawal again, by its id or reference. */
export async function replayEvents(api, options, reference) {
  const forward = createForwarding(api, 'replay', options)
  const found = await findEvents(api, reference)
  if (found.length === 0)
    throw new ApiError(`No event of ${reference} among the latest ${SEARCH_MAX} events`)
  for (const one of found) if (!(await forward.send(one))) process.exitCode = 1
}

/** Reads where to send, and with which secret to sign. */
export function readReceiver(
  api,
  name,
  { 'forward-to': receiver, secret = deriveSecret(api.token) },
) {
  const target = readTarget(receiver)
  requireTestToken(api, name)
  if (!secret.startsWith(SECRET_PREFIX)) throw new UsageError('--secret must begin with whsec_')
  return { target, secret }
}

function createForwarding(api, name, options) {
  const { target, secret } = readReceiver(api, name, options)
  const { json } = options
  const send = async ({ event, body }) => {
    const { outcome, ...result } = await deliver(target, body, sign(event.id, body, secret))
    printEvent(json ? { event, ...result } : event, json, outcome)
    return result.status >= 200 && result.status < 300
  }
  return { target, secret, send }
}

/** Reads an address, with or without its scheme. */
function readTarget(address) {
  if (!address) throw new UsageError('Name your receiver with --forward-to <url>')
  const target = address.includes('://') ? address : `http://${address}`
  if (/^https?:/i.test(target) && URL.canParse(target)) return target
  throw new UsageError(`--forward-to must be an address of http or https: ${address}`)
}

/** The same for the same token, so that a receiver's configuration stays valid. */
function deriveSecret(token) {
  return SECRET_PREFIX + createHmac('sha256', token).update('troco listen').digest('base64')
}

/** Sends a body with its signature, and returns what the receiver responded and after how long. */
export async function deliver(target, body, signature) {
  const startedAt = performance.now()
  const elapsed = () => Math.round(performance.now() - startedAt)
  try {
    const status = await send(target, body, signature)
    const ms = elapsed()
    const paint = status >= 200 && status < 300 ? green : red
    return { status, ms, outcome: paint(`→ ${status} in ${ms} ms`) }
  } catch (error) {
    const problem = error.cause?.message ?? error.code ?? error.message
    return { status: null, problem, ms: elapsed(), outcome: red(`→ no response: ${problem}`) }
  }
}

/** Sends a request as Troco's server does; `fetch` would add headers of its own. */
async function send(target, body, signature) {
  const { request } = target.startsWith('https:') ? https : http
  const headers = {
    'user-agent': 'Troco-Webhooks/1',
    'accept-encoding': 'identity',
    'content-type': 'application/json',
    ...signature,
    traceparent: `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`,
    'content-length': Buffer.byteLength(body),
  }
  const signal = AbortSignal.timeout(RECEIVER_TIMEOUT_MS)
  const outgoing = request(target, { method: 'POST', headers, signal })
  // An error after the response began is one of the response.
  outgoing.on('error', () => {})
  outgoing.end(body)
  const [response] = await once(outgoing, 'response')
  response.resume()
  await once(response, 'end')
  return response.statusCode
}

/** Headers of Standard Webhooks. */
export function sign(id, body, secret, sentAt = Math.floor(Date.now() / 1000)) {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${sentAt}.${body}`).digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': String(sentAt),
    'webhook-signature': `v1,${signature}`,
  }
}
