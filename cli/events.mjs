import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from './api.mjs'
import { printEvent, printNote } from './output.mjs'

const POLL_INTERVAL_MS = 500
/** Events that `events tail` prints before it ends or follows. */
const TAIL_COUNT = 10
const PAGE_LIMIT = 100

export async function tailEvents(api, { json, types, after, follow }) {
  if (after !== undefined && !/^\d+$/.test(after))
    throw new UsageError('--after must be a sequence number')
  const feed = await readFeed(api)
  const start = after === undefined ? Math.max(0, feed.last - TAIL_COUNT) : Number(after)
  for await (const event of followEvents(api, { ...feed, after: start, types, follow })) {
    printEvent(event, json)
  }
}

/** Reads the newest sequence and the epoch of the feed. */
export async function readFeed({ call }, after = 0) {
  try {
    const { data, headers } = await call('GET', `/events?after=${after}&limit=1`)
    return { last: data.last_sequence, epoch: headers.get('troco-feed-epoch') }
  } catch (error) {
    if (error.code !== 'events_gone') throw error
    return readFeed({ call }, Number(error.headers.get('troco-continue-after')))
  }
}

/** Yields events in order; at the end of the feed it ends or, with `follow`, waits for more. */
export async function* followEvents(api, { after, epoch, types, follow = true }) {
  const wanted = types?.split(',').map(type => type.trim())
  let position = { after, epoch }
  for (;;) {
    const page = await readPage(api, position)
    for (const event of page.data) if (!wanted || wanted.includes(event.type)) yield event
    const hasMoved = page.position.after !== position.after
    position = page.position
    if (hasMoved) continue
    if (!follow) return
    await sleep(POLL_INTERVAL_MS)
  }
}

/** Errors after which the feed is read on from another place. */
const MOVED = {
  feed_epoch_changed: 'A backup was restored: reading the new feed from its beginning.',
  events_gone: 'The events in between have been deleted: continuing at the oldest that is left.',
}

async function readPage({ call }, { after, epoch }) {
  try {
    const { data } = await call('GET', `/events?after=${after}&epoch=${epoch}&limit=${PAGE_LIMIT}`)
    return { data: data.data, position: { after: data.next_after, epoch } }
  } catch (error) {
    const reason = MOVED[error.code]
    if (!reason) throw error
    printNote(reason)
    const continueAfter = Number(error.headers.get('troco-continue-after'))
    const newEpoch = error.headers.get('troco-feed-epoch')
    return { data: [], position: { after: continueAfter, epoch: newEpoch } }
  }
}
