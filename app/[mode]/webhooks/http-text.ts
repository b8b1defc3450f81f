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
/** Numbers that JavaScript would write in another way. */
const FRAGILE = /\d{16}|\.\d*0(?!\d)|\d[eE]/

/** JSON over several lines, unless reading and writing it would change a value: a long number. */
export function pretty(body: string): string {
  try {
    const value: unknown = JSON.parse(body)
    return FRAGILE.test(body.replaceAll(STRINGS, '')) ? body : JSON.stringify(value, null, 2)
  } catch {
    return body
  }
}
