import { createHmac } from 'node:crypto'
import { UsageError } from './api.mjs'
import { followEvents, readFeed, readTypes } from './events.mjs'
import { green, printEvent, printNote, red } from './output.mjs'

/** Troco's own time limit for a receiver. */
const RECEIVER_TIMEOUT_MS = 15_000
const SECRET_PREFIX = 'whsec_'

/** Sends each new event to a program on this machine, with the headers of a webhook. */
export async function forwardEvents(api, { 'forward-to': receiver, secret, types, json }) {
  const target = readTarget(receiver)
  const wanted = await readTypes(api, types)
  if (!api.isTest)
    throw new UsageError(
      'troco listen works in test mode only: use a token that begins with troco_test_',
    )
  const signingSecret = secret ?? deriveSecret(api.token)
  if (!signingSecret.startsWith(SECRET_PREFIX))
    throw new UsageError('--secret must begin with whsec_')
  const { last, epoch } = await readFeed(api)
  printNote(`Forwarding new events to ${target}. They are signed with`)
  printNote(signingSecret)
  for await (const event of followEvents(api, { after: last, epoch, wanted, onlyNew: true })) {
    const { outcome, ...result } = await deliver(target, event, signingSecret)
    printEvent(json ? { event, ...result } : event, json, outcome)
  }
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

async function deliver(target, event, secret) {
  const body = JSON.stringify(event)
  const startedAt = performance.now()
  const elapsed = () => Math.round(performance.now() - startedAt)
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...sign(event.id, body, secret) },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(RECEIVER_TIMEOUT_MS),
    })
    await response.arrayBuffer()
    const ms = elapsed()
    const paint = response.ok ? green : red
    return { status: response.status, ms, outcome: paint(`→ ${response.status} in ${ms} ms`) }
  } catch (error) {
    const problem = error.cause?.code ?? error.message
    return { status: null, problem, ms: elapsed(), outcome: red(`→ no response: ${problem}`) }
  }
}

/** Headers of Standard Webhooks. */
function sign(id, body, secret) {
  const sentAt = Math.floor(Date.now() / 1000)
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${sentAt}.${body}`).digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': String(sentAt),
    'webhook-signature': `v1,${signature}`,
  }
}
