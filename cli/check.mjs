import { randomBytes, randomUUID } from 'node:crypto'
import { ApiError, requireTestToken } from './api.mjs'
import { deliver, readReceiver, sign } from './listen.mjs'
import { dim, green, printNote, red } from './output.mjs'

const MEBIBYTE = 1_048_576
const OLD_S = 600
/** A receiver that does its work before it responds is slower than this on a bad day. */
const SLOW_MS = 5_000
const NAME_WIDTH = 34

/** Sends samples to a receiver, and prints for each whether it did right, and what to mend. */
export async function checkReceiver(api, options, url) {
  const { data } = await api.call('GET', '/openapi.json')
  const sampleOf = type =>
    structuredClone(data.webhooks[type].post.requestBody.content['application/json'].example)
  const run = url ? await checkEndpoint(api, url) : checkHere(api, options)
  const results = []
  for (const check of listChecks(sampleOf)) {
    const result = await run(check)
    results.push(result)
    printResult(result, options.json)
  }
  const failed = results.filter(({ passed }) => !passed).length
  if (!options.json) printNote(`${results.length - failed} of ${results.length} passed`)
  if (failed === 0) return
  const docs = api.base.replace(/\/api$/, '/docs')
  if (!options.json) printNote(`Receivers that pass, in three languages: ${docs}/webhooks`)
  process.exitCode = 1
}

/** Sends from here, to a receiver that Troco need not reach. */
function checkHere(api, options) {
  const receiver = readReceiver(api, 'check-receiver', options)
  printNote(`Checking ${receiver.target} with samples. They are signed with`)
  printNote(receiver.secret)
  return check => runCheck(receiver, check)
}

/** Lets Troco send to the endpoint that it has for an address, signed with its secret. */
async function checkEndpoint(api, url) {
  requireTestToken(api, 'check-receiver')
  const { data } = await api.call('GET', '/webhooks/endpoints')
  const endpoint = data.data.find(one => one.url === url)
  if (!endpoint) throw new ApiError(`No endpoint for ${url}`)
  printNote(`Troco checks ${url} with samples, signed with the secret of the endpoint`)
  return async ({ check, name, fix }) => {
    const path = `/webhooks/endpoints/${endpoint.id}/test`
    const answer = await api.call('POST', path, { body: { check }, key: randomUUID() })
    const { passed, status, problem } = answer.data.data
    return { name, passed, responses: [status ?? problem], fix: passed ? null : fix }
  }
}

/** Each sends one or two events; `accepts` says whether the receiver must respond with 2xx to them. */
function listChecks(sampleOf) {
  const charge = randomUUID()
  const make = (type, more = {}) => {
    const event = { ...sampleOf(type), id: randomUUID(), sequence: 0, ...more }
    const ids = { id: charge, transaction_id: charge, external_id: `check-${charge.slice(0, 8)}` }
    return { ...event, transaction: { ...event.transaction, ...ids } }
  }
  const paid = make('transaction.paid')
  const refund = make('transaction.refunded')
  const unknown = { ...make('transaction.paid'), type: 'transaction.settled', event: 'settled' }
  const large = make('transaction.paid')
  large.transaction.metadata = { padding: 'x'.repeat(MEBIBYTE - JSON.stringify(large).length) }
  return [
    {
      check: 'wrong_signature',
      name: 'refuses a wrong signature',
      events: [make('transaction.paid')],
      forge: ({ secret }) => ({ secret: otherSecret(secret) }),
      fix: 'Verify webhook-signature over the bytes as they arrived, and respond with 400 if it does not match.',
    },
    {
      check: 'changed_body',
      name: 'refuses a changed body',
      events: [make('transaction.paid')],
      forge: () => ({ change: body => body.replace(/"amount":\d+/, '"amount":1') }),
      fix: 'Compute the signature over the body itself, not over the id alone.',
    },
    {
      check: 'old_timestamp',
      name: 'refuses an old time stamp',
      events: [make('transaction.paid')],
      forge: () => ({ sentAt: Math.floor(Date.now() / 1000) - OLD_S }),
      fix: 'Refuse a webhook-timestamp that differs from your clock by more than five minutes.',
    },
    {
      check: 'genuine',
      name: 'takes a genuine event',
      accepts: true,
      events: [paid],
      fix: 'Respond with 2xx. If the signature fails, compare the secret with that of the check.',
    },
    {
      check: 'duplicate',
      name: 'takes the same event again',
      accepts: true,
      events: [paid],
      fix: 'Respond with 2xx to an event id that you know, and do nothing.',
    },
    {
      check: 'out_of_order',
      name: 'takes events out of order',
      accepts: true,
      events: [refund, make('transaction.paid')],
      fix: 'Accept an event of a resource that you do not know yet: store it, or read the resource.',
    },
    {
      check: 'unknown_type',
      name: 'takes a type that it does not know',
      accepts: true,
      events: [unknown],
      fix: 'Respond with 2xx to types that you do not know, and ignore them.',
    },
    {
      check: 'large',
      name: 'takes an event of 1 MB',
      accepts: true,
      events: [large],
      fix: 'Raise the limit of the body in your server or proxy to at least 2 MB.',
    },
    {
      check: 'fast',
      name: `responds within ${SLOW_MS / 1_000} seconds`,
      accepts: true,
      events: [make('transaction.paid')],
      timeLimitMs: SLOW_MS,
      fix: 'Store the event, respond, and work afterwards: after 15 seconds Troco counts the attempt as failed.',
    },
  ]
}

async function runCheck(
  { target, secret },
  { name, events, accepts = false, forge, fix, timeLimitMs },
) {
  const forged = forge?.({ secret }) ?? {}
  let passed = true
  const responses = []
  for (const event of events) {
    const body = JSON.stringify(event)
    const signature = sign(event.id, body, forged.secret ?? secret, forged.sentAt)
    const { status, problem, ms } = await deliver(target, forged.change?.(body) ?? body, signature)
    responses.push(status ?? problem)
    const isTaken = status >= 200 && status < 300
    // A receiver that breaks on a forged event has not refused it.
    const isRefused = status >= 400 && status < 500
    passed &&= accepts ? isTaken && !(ms > timeLimitMs) : isRefused
  }
  return { name, passed, responses, fix: passed ? null : fix }
}

function printResult(result, json) {
  if (json) return void process.stdout.write(`${JSON.stringify(result)}\n`)
  const { name, passed, responses, fix } = result
  const mark = passed ? green('pass') : red('FAIL')
  process.stdout.write(`${mark}  ${name.padEnd(NAME_WIDTH)}  ${dim(responses.join(', '))}\n`)
  if (fix) process.stdout.write(`      ${fix}\n`)
}

function otherSecret(secret) {
  const length = Buffer.from(secret.slice('whsec_'.length), 'base64').length
  return `whsec_${randomBytes(length).toString('base64')}`
}
