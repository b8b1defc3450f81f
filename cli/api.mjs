import { setTimeout as sleep } from 'node:timers/promises'
import { printNote } from './output.mjs'

/** The command cannot be understood. */
export class UsageError extends Error {}

/** The server refused, or was not reached. A temporary error may pass when the request is repeated. */
export class ApiError extends Error {
  constructor(message, { code, isTemporary = false, retryAfterS, headers } = {}) {
    super(message)
    Object.assign(this, { code, isTemporary, retryAfterS, headers })
  }
}

const REQUEST_TIMEOUT_MS = 30_000
const ATTEMPTS_MAX = 5
/** A command that follows events waits for its server without end, and says so after this many failures. */
const FAILURES_BEFORE_NOTE = 3
const PAUSE_MAX_S = 30
const TOKEN_FORM = /^troco_(test|live)_[0-9A-Za-z]+$/

/** Returns a function that calls the API with the token of the options or the environment. */
export function connectApi(options) {
  const url = (options.url ?? process.env.TROCO_URL)?.trim()
  const token = (options.token ?? process.env.TROCO_TOKEN)?.trim()
  if (!url) throw new UsageError('Name the server with --url, or in TROCO_URL')
  if (!token) throw new UsageError('Give a token with --token, or in TROCO_TOKEN')
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new UsageError(`--url must be an address that begins with https:// or http://: ${url}`)
  // The value is not printed: it may be a token with something before or behind it.
  if (!TOKEN_FORM.test(token))
    throw new UsageError(
      'The token is invalid: it is troco_test_ or troco_live_, then letters and digits',
    )
  // The address of the dashboard is accepted, too.
  const base = `${url.replace(/(?<!\/)\/+$/, '').replace(/\/api$/, '')}/api`
  const call = (method, path, more) => request(base, token, { method, path, ...more })
  return { call, token, base, isTest: token.startsWith('troco_test_') }
}

export function requireTestToken({ isTest }, name) {
  if (isTest) return
  throw new UsageError(
    `troco ${name} works in test mode only: use a token that begins with troco_test_`,
  )
}

/** Repeats what may be repeated: nothing was changed, or the key makes it safe. */
async function request(base, token, call) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(base, token, call)
    } catch (error) {
      const isSafe = call.method === 'GET' || call.key !== undefined
      const isLast = attempt === ATTEMPTS_MAX && !call.isPatient
      if (!error.isTemporary || !isSafe || isLast) throw error
      if (call.isPatient && attempt === FAILURES_BEFORE_NOTE)
        printNote(`${error.message}\nTrying again until the server responds.`)
      await sleep((error.retryAfterS ?? Math.min(2 ** attempt / 4, PAUSE_MAX_S)) * 1000)
    }
  }
}

async function send(base, token, { method, path, body, key }) {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body && { 'content-type': 'application/json' }),
    ...(key && { 'idempotency-key': key }),
  }
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  const init = { method, headers, signal, body: body && JSON.stringify(body), redirect: 'manual' }
  let response
  let text
  try {
    response = await fetch(base + path, init)
    text = await response.text()
  } catch (error) {
    // The message of an error in a header would show the token.
    const reason = error.cause?.code ?? error.cause?.message ?? error.name
    throw new ApiError(`No response from ${base}: ${reason}`, { isTemporary: true })
  }
  if (response.ok) return { data: parseJson(text, base), text, headers: response.headers }
  const code = response.headers.get('x-error-code')
  throw new ApiError(describeError(response, text), {
    code,
    isTemporary: isTemporary(response.status, code),
    retryAfterS: Number(response.headers.get('retry-after')) || undefined,
    headers: response.headers,
  })
}

/** Without a code, the response is a proxy's, whose 500 may be anything. */
function isTemporary(status, code) {
  return (
    [408, 429, 502, 503, 504].includes(status) || (code && status === 500) || code === 'in_progress'
  )
}

function parseJson(text, base) {
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiError(`${base} is not the API of a Troco server`)
  }
}

/** Names status, code, message and the page that explains the code. */
function describeError(response, text) {
  const code = response.headers.get('x-error-code')
  const help = /<([^<>]+)>; rel="help"/.exec(response.headers.get('link') ?? '')?.[1]
  if (!code) return describeStranger(response)
  const { error, errors } = parseJson(text, response.url)
  const fields = typeof errors === 'object' ? Object.entries(errors) : []
  const message =
    error ??
    (fields.length > 0 ? fields.map(([name, rules]) => `${name}: ${rules}`).join('; ') : errors)
  return `${response.status} ${code}: ${message}${help ? `\n${help}` : ''}`
}

function describeStranger({ status, url, headers }) {
  const location = headers.get('location')
  if (status < 400 && location)
    return `The server redirects to ${new URL(location, url).origin}: use that as --url`
  return [502, 503, 504].includes(status)
    ? `${status} from ${url}: the server or its proxy is unavailable`
    : `${status} from ${url}, which is not the API of a Troco server`
}
