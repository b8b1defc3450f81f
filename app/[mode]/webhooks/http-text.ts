import type { Attempt } from '#lib/services/webhooks/schema.ts'

type Sent = Pick<Attempt, 'request_headers' | 'request_body'>
type Answered = Pick<Attempt, 'response_headers' | 'response_body'>

export function requestText(url: string, { request_headers, request_body }: Sent): string {
  return message(`POST ${url}`, request_headers, request_body)
}

export function responseText(
  status: number,
  { response_headers, response_body }: Answered,
): string {
  return message(`HTTP ${status}`, response_headers ?? {}, response_body)
}

function message(first: string, headers: Record<string, string>, body: string | null): string {
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const rest = body ? ['', pretty(body)] : []
  return [first, ...head, ...rest].join('\n')
}

const STRINGS = /"(?:\\.|[^"\\])*"/g
/** Numbers that JavaScript would serialize differently. */
const FRAGILE = /\d{16}|\.\d*0(?!\d)|\d[eE]/

/** Formats JSON over several lines, unless parsing would change a value, such as a long number. */
export function pretty(body: string): string {
  try {
    const value: unknown = JSON.parse(body)
    return FRAGILE.test(body.replaceAll(STRINGS, '')) ? body : JSON.stringify(value, null, 2)
  } catch {
    return body
  }
}

interface Call {
  url: string
  headers: Record<string, string>
  body: string
}

/** Returns a curl command that sends the same bytes; every value is quoted for the shell. */
export function curlOf({ url, headers, body }: Call): string {
  const given = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)
  // Without --globoff, curl would expand brackets in a URL.
  return [`curl --globoff ${quoted(url)}`, ...given, `--data-raw ${quoted(body)}`].join(' \\\n  ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
