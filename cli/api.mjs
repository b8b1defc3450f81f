import { setTimeout as sleep } from 'node:timers/promises'

/** The command cannot be understood. */
export class UsageError extends Error {}

/** The server refused, or was not reached. */
export class ApiError extends Error {
  constructor(message, { status = 0, code = null, retryAfterS = null, headers = null } = {}) {
    super(message)
    Object.assign(this, { status, code, retryAfterS, headers })
  }
}

const REQUEST_TIMEOUT_MS = 30_000
const ATTEMPTS_MAX = 5

/** Returns a function that calls the API with the token of the options or the environment. */
export function connectApi({ url = process.env.TROCO_URL, token = process.env.TROCO_TOKEN }) {
  if (!url) throw new UsageError('Name the server with --url, or in TROCO_URL')
  if (!token) throw new UsageError('Give a token with --token, or in TROCO_TOKEN')
  if (!/^https?:\/\//.test(url))
    throw new UsageError(`--url must begin with https:// or http://: ${url}`)
  // The address of the dashboard is accepted, too.
  const base = `${url.replace(/\/+$/, '').replace(/\/api$/, '')}/api`
  const call = (method, path, body, key) => request(base, token, { method, path, body, key })
  return { call, token, isTest: token.startsWith('troco_test_') }
}

/** Repeats what may be repeated: nothing was changed, or the key makes it safe. */
async function request(base, token, call) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(base, token, call)
    } catch (error) {
      const isTemporary = [0, 408, 429, 502, 503, 504].includes(error.status)
      const isSafe = call.method === 'GET' || call.key !== undefined
      if (!isTemporary || !isSafe || attempt === ATTEMPTS_MAX) throw error
      await sleep((error.retryAfterS ?? 2 ** attempt / 4) * 1000)
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
  const init = { method, headers, signal, body: body && JSON.stringify(body), redirect: 'error' }
  let response
  let text
  try {
    response = await fetch(base + path, init)
    text = await response.text()
  } catch (error) {
    const reason = error.cause?.code ?? error.cause?.message ?? error.message
    throw new ApiError(`No response from ${base}: ${reason}`)
  }
  if (response.ok) return { data: parseJson(text, base), headers: response.headers }
  throw new ApiError(describeError(response, text), {
    status: response.status,
    code: response.headers.get('x-error-code'),
    retryAfterS: Number(response.headers.get('retry-after')) || null,
    headers: response.headers,
  })
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
  const help = /<(.+)>; rel="help"/.exec(response.headers.get('link') ?? '')?.[1]
  if (!code)
    return `${response.status} from ${response.url}, which is not the API of a Troco server`
  const { error, errors } = parseJson(text, response.url)
  const fields = typeof errors === 'object' ? Object.entries(errors) : []
  const message =
    error ??
    (fields.length > 0 ? fields.map(([name, rules]) => `${name}: ${rules}`).join('; ') : errors)
  return `${response.status} ${code}: ${message}${help ? `\n${help}` : ''}`
}
