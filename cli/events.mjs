import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, UsageError } from './api.mjs'
import { printEvent, printNote } from './output.mjs'

const POLL_INTERVAL_MS = 500
/** Events that `events tail` prints before it ends or follows. */
const TAIL_COUNT = 10
/** Newest events among which those of some types, or of one charge, are looked for: 100 requests. */
export const SEARCH_MAX = 10_000
const PAGE_LIMIT = 100

export async function tailEvents(api, { json, types, after, follow }) {
  const given = readSequence(after)
  const wanted = await readTypes(api, types)
  const feed = await readFeed(api)
  const start = given ?? (await findStart(api, feed, wanted))
  for await (const { event } of followEvents(api, { ...feed, after: start, wanted, follow })) {
    printEvent(event, json)
  }
}

/** Sends again what Troco itself sent about a charge or withdrawal, to its endpoints and `webhook_url`. */
export async function resendDeliveries({ call }, { json }, reference) {
  const deliveries = []
  let cursor = ''
  do {
    const query = `reference=${encodeURIComponent(reference)}&limit=${PAGE_LIMIT}${cursor}`
    const { data } = await call('GET', `/webhooks/deliveries?${query}`)
    deliveries.unshift(...data.data.toReversed())
    cursor = data.next_cursor && `&cursor=${data.next_cursor}`
  } while (cursor)
  if (deliveries.length === 0) throw new ApiError(`No delivery of ${reference}`)
  for (const { id, type, url } of deliveries) {
    const path = `/webhooks/deliveries/${id}/resend`
    const { data } = await call('POST', path, { body: {}, key: randomUUID() })
    process.stdout.write(json ? `${JSON.stringify(data.data)}\n` : `${type}  →  ${url}\n`)
  }
}

/** Reads `--after`; undefined without it. */
export function readSequence(after) {
  if (after === undefined) return undefined
  if (!/^\d+$/.test(after)) throw new UsageError('--after must be a sequence number')
  return Number(after)
}

/** Returns the latest events of a charge or withdrawal, oldest first, by its id or reference. */
export async function findEvents(api, reference) {
  const { first, last, epoch } = await readFeed(api)
  let kept
  const search = async end => {
    const after = Math.max(first, end - SEARCH_MAX)
    const onRestore = number => (kept = number)
    const found = []
    const options = { after, epoch, wanted: null, follow: false, end, onRestore }
    for await (const one of followEvents(api, options)) {
      const subject = one.event.transaction ?? one.event.withdrawal
      if ([subject?.id, subject?.external_id].includes(reference)) found.push(one)
    }
    return found
  }
  const latest = await search(last)
  // Numbers begin anew after a restore: before the gap are those that it kept.
  return kept === undefined ? latest : [...(await search(kept)), ...latest]
}

/** Reads the list of `--types`, which the server must know; null without it: all types. */
export async function readTypes(api, types) {
  if (types === undefined) return null
  const wanted = types.split(',').map(type => type.trim())
  const { data } = await api.call('GET', '/openapi.json')
  // A ping goes to an endpoint only, and is in no feed.
  const known = Object.keys(data.webhooks).filter(type => type !== 'troco.ping')
  const wrong = wanted.find(type => !known.includes(type))
  if (wrong === undefined) return wanted
  throw new UsageError(`--types: "${wrong}" is not an event type. Event types: ${known.join(', ')}`)
}

/** Reads where the feed begins and ends, and its epoch. */
export async function readFeed(api, first = 0) {
  try {
    const { data, headers } = await api.call('GET', `/events?after=${first}&limit=1`)
    return { first, last: data.last_sequence, epoch: headers.get('troco-feed-epoch') }
  } catch (error) {
    if (error.code !== 'events_gone') throw error
    return readFeed(api, Number(error.headers.get('troco-continue-after')))
  }
}

/** Returns the sequence after which the latest events of the wanted types begin. */
async function findStart(api, { first, last, epoch }, wanted) {
  let found = []
  let end = last
  for (let searched = 0; end > first && searched < SEARCH_MAX; searched += PAGE_LIMIT) {
    const after = Math.max(first, end - PAGE_LIMIT)
    const older = []
    // Before the first number of an epoch are those that the restore kept.
    let nextEnd = after
    const onRestore = kept => (nextEnd = Math.min(kept, after))
    const options = { after, epoch, wanted, follow: false, end, onRestore }
    for await (const { event } of followEvents(api, options)) older.push(event)
    found = [...older, ...found]
    end = nextEnd
    if (found.length >= TAIL_COUNT) break
  }
  return found.length > 0 ? found.slice(-TAIL_COUNT)[0].sequence - 1 : last
}

/** Yields events in order, each with its `body` as an endpoint receives it; at the end of the feed it ends or, with `follow`, waits for more. */
export async function* followEvents(api, options) {
  const {
    after,
    epoch,
    wanted,
    follow = true,
    onlyNew = false,
    end = Infinity,
    onRestore,
  } = options
  let position = { after, epoch }
  for (;;) {
    const page = await readPage(api, position, { isPatient: follow, onlyNew, onRestore })
    for (const [nth, event] of page.data.entries()) {
      if (event.sequence > end) return
      if (wanted === null || wanted.includes(event.type)) yield { event, body: page.bodies[nth] }
    }
    const hasMoved = page.position.after !== position.after
    position = page.position
    if (hasMoved && position.after < end) continue
    if (!follow) return
    await sleep(POLL_INTERVAL_MS)
  }
}

/** Reads a page, or the position at which to go on if the feed is another or has lost events. */
async function readPage(api, { after, epoch }, { isPatient, onlyNew, onRestore }) {
  try {
    const path = `/events?after=${after}&epoch=${epoch}&limit=${PAGE_LIMIT}&form=endpoint`
    const { data, text } = await api.call('GET', path, { isPatient })
    const position = { after: data.next_after, epoch }
    return { data: data.data, bodies: splitEntries(text), position }
  } catch (error) {
    if (!['feed_epoch_changed', 'feed_restored', 'events_gone'].includes(error.code)) throw error
    const isNewFeed = error.code !== 'events_gone'
    const position = isNewFeed && onlyNew ? await findEnd(api) : readPosition(error)
    const kept = error.headers.get('troco-last-kept')
    if (kept !== null && onRestore) onRestore(Number(kept))
    else printNote(describeMove(isNewFeed, onlyNew, kept))
    return { data: [], bodies: [], position }
  }
}

/** Returns the text of each entry of a page: parsed and written again, a large number would be another. */
function splitEntries(text) {
  const entries = []
  let depth = 0
  let start = 0
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{' && ++depth === 2) start = index
    if (token === '}' && --depth === 1) entries.push(text.slice(start, index + 1))
  }
  return entries
}

async function findEnd(api) {
  const { last, epoch } = await readFeed(api)
  return { after: last, epoch }
}

function readPosition({ headers }) {
  const after = Number(headers.get('troco-continue-after'))
  return { after, epoch: headers.get('troco-feed-epoch') }
}

function describeMove(isNewFeed, onlyNew, kept) {
  if (!isNewFeed)
    return 'The events in between have been deleted: continuing at the oldest that is left.'
  const isRestore = kept !== null
  const rest = isRestore
    ? `events after ${kept} are gone.`
    : 'reading the new feed from its beginning.'
  const place = onlyNew ? 'continuing with new events.' : rest
  return `A backup was restored: ${place}`
}
