import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from './api.mjs'
import { findEvents } from './events.mjs'
import {
  dim,
  formatTime,
  green,
  printEvent,
  printRow,
  red,
  startTable,
  TIME_COLUMN,
} from './output.mjs'

const POLL_INTERVAL_MS = 1_000
/** Requests that `requests tail` prints before it ends or follows. */
const TAIL_COUNT = 10
const PAGE_LIMIT = 100
/** An entry can become visible after a newer one of another process, by about the time of a batch. */
const LATE_MS = 10_000
const METHOD_WIDTH = 6
/** Width of the longest path, /transactions/{id}/refunds/{refund_id}. */
const PATH_WIDTH = 38
/** Width of a duration of less than 100 s. */
const DURATION_WIDTH = 8
/** Width of the longest code, refund_exceeds_remainder. */
const CODE_WIDTH = 24
const COLUMNS = [
  TIME_COLUMN,
  'STATUS',
  'METHOD',
  'PATH'.padEnd(PATH_WIDTH),
  'DURATION'.padStart(DURATION_WIDTH),
  'CODE'.padEnd(CODE_WIDTH),
  'TOKEN',
]

export async function tailRequests({ call }, { json, failed, follow }) {
  const filter = failed ? '&status=failed' : ''
  const read = async (limit, rest) =>
    (await call('GET', `/requests?limit=${limit}${filter}${rest}`)).data
  const latest = (await read(TAIL_COUNT, '')).data.reverse()
  for (const request of latest) printRequest(request, json)
  let newest = latest.at(-1)?.created_at
  let seen = new Set(latest.map(({ id }) => id))
  while (follow) {
    await sleep(POLL_INTERVAL_MS)
    const from = newest ? `&created_from=${timeBefore(newest)}` : ''
    const requests = await readAll(rest => read(PAGE_LIMIT, from + rest))
    const unseen = requests.filter(({ id, created_at }) => !seen.has(id) && isLater(created_at))
    for (const request of unseen) printRequest(request, json)
    if (requests.length === 0) continue
    newest = requests.at(-1).created_at
    seen = new Set(requests.map(({ id }) => id))
  }

  /** The first lines are the latest ten: what is older than they are is not printed later. */
  function isLater(time) {
    return latest.length === 0 || time >= latest[0].created_at
  }
}

/** Requests among which `requests show` looks for an X-Request-Id. */
const SEARCH_PAGES_MAX = 10
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Prints one request: what was sent and answered, and where its refusal is explained. */
export async function showRequest(api, { json }, id) {
  const found = await findRequest(api, id)
  if (!found) throw new ApiError(`No request ${id} among the latest of the account`)
  if (json) return void process.stdout.write(`${JSON.stringify(found)}\n`)
  printRequest(found)
  const { request_body, response_body, request_id } = found
  process.stdout.write(`\n${dim('X-Request-Id')}  ${request_id}\n`)
  printBody('Sent', request_body)
  printBody('Answered', response_body)
  await explainRefusal(api, found)
}

/** Prints one request as `requests show` does, and what it led to: the events of what it created or changed. */
export async function explainRequest(api, { json }, id) {
  const found = await findRequest(api, id)
  if (!found) throw new ApiError(`No request ${id} among the latest of the account`)
  const subject = subjectOf(found)
  const events = subject ? (await findEvents(api, subject)).map(({ event }) => event) : []
  if (json) return void process.stdout.write(`${JSON.stringify({ request: found, events })}\n`)
  await showRequest(api, {}, found.id)
  if (subject === null) return
  process.stdout.write(`\n${dim('Led to')}\n`)
  if (events.length === 0) return void process.stdout.write(`No event of ${subject} yet\n`)
  startTable()
  for (const event of events) printEvent(event)
}

/** The charge or withdrawal that a request created or named. */
function subjectOf({ path, resource_id, response_body }) {
  if (!/^\/(sandbox\/)?(transactions|withdrawals)/.test(path)) return null
  const { transaction_id, id } = response_body?.data ?? {}
  return transaction_id ?? (path.includes('/refunds') ? null : id) ?? resource_id
}

/** Prints why a request was refused and what to do, in the words of the server's documentation. */
async function explainRefusal(api, { code }) {
  if (!code) return
  const { data } = await api.call('GET', '/openapi.json')
  const entry = data['x-error-codes'].find(one => one.code === code)
  const page = `${api.base.replace(/\/api$/, '')}/docs/errors#${code}`
  if (entry) process.stdout.write(`\n${dim('Why')}  ${entry.cause}\n`)
  process.stdout.write(`\n${dim('What to do')}  ${entry ? `${entry.remedy}\n${page}` : page}\n`)
}

/** Finds a request by the id of its entry, or by its X-Request-Id among the latest thousand. */
async function findRequest({ call }, id) {
  const read = async entry => (await call('GET', `/requests/${entry}`)).data.data
  if (UUID.test(id)) {
    const found = await read(id).catch(error => {
      if (error.code !== 'request_not_found') throw error
    })
    if (found) return found
  }
  let cursor = ''
  for (let page = 0; page < SEARCH_PAGES_MAX; page++) {
    const { data } = await call('GET', `/requests?limit=${PAGE_LIMIT}${cursor}`)
    const entry = data.data.find(({ request_id }) => request_id === id)
    if (entry) return read(entry.id)
    if (!data.next_cursor) return undefined
    cursor = `&cursor=${data.next_cursor}`
  }
  return undefined
}

function printBody(name, body) {
  if (body === null) return
  const text = JSON.stringify(body, null, 2)
  process.stdout.write(`\n${dim(name)}\n${text}\n`)
}

/** Reads all pages, oldest first. */
async function readAll(read) {
  const all = []
  let cursor = ''
  do {
    const page = await read(cursor)
    all.push(...page.data)
    cursor = page.next_cursor && `&cursor=${page.next_cursor}`
  } while (cursor)
  return all.reverse()
}

function timeBefore(time) {
  return new Date(Date.parse(time) - LATE_MS).toISOString()
}

function printRequest(request, json) {
  if (json) return void process.stdout.write(`${JSON.stringify(request)}\n`)
  const { created_at, status, code, method, path, duration_ms, token_name } = request
  printRow(COLUMNS, [
    formatTime(created_at),
    (status < 400 ? green : red)(String(status).padEnd('STATUS'.length)),
    method.padEnd(METHOD_WIDTH),
    path.padEnd(PATH_WIDTH),
    dim(`${duration_ms} ms`.padStart(DURATION_WIDTH)),
    red((code ?? '').padEnd(CODE_WIDTH)),
    dim(token_name),
  ])
}
