import type { Attempt } from '#lib/webhooks/schema.ts'

type AttemptRequest = Pick<Attempt, 'request_headers' | 'request_body'>
type AttemptResponse = Pick<Attempt, 'response_headers' | 'response_body'>

/** `hiddenSignature` takes the place of a signature that is not shown. */
export function requestText(
  url: string,
  { request_headers, request_body }: AttemptRequest,
  hiddenSignature?: string,
): string {
  const headers = hiddenSignature
    ? { ...request_headers, 'webhook-signature': hiddenSignature }
    : request_headers
  return formatMessage(`POST ${url}`, headers, request_body)
}

export function responseText(
  status: number,
  { response_headers, response_body }: AttemptResponse,
): string {
  return formatMessage(`HTTP ${status}`, response_headers ?? {}, response_body)
}

function formatMessage(
  startLine: string,
  headers: Record<string, string>,
  body: string | null,
): string {
  const headerLines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const bodyLines = body ? ['', prettyPrintJson(body)] : []
  return [startLine, ...headerLines, ...bodyLines].join('\n')
}

const STRING_LITERALS = /"(?:\\.|[^"\\])*"/g
/** Numbers that JavaScript would serialize differently. */
const UNSAFE_NUMBER = /\d{16}|\.\d*0(?!\d)|\d[eE]/

/** Indents JSON, unless parsing would change a value, such as a long number. */
export function prettyPrintJson(body: string): string {
  try {
    const value: unknown = JSON.parse(body)
    return UNSAFE_NUMBER.test(body.replaceAll(STRING_LITERALS, ''))
      ? body
      : JSON.stringify(value, null, 2)
  } catch {
    return body
  }
}

interface CurlRequest {
  url: string
  headers: Record<string, string>
  body: string
}

/** Returns a curl command that sends the same bytes; every value is quoted for the shell. */
export function curlCommand({ url, headers, body }: CurlRequest): string {
  const headerOptions = Object.entries(headers).map(
    ([name, value]) => `-H ${quoteForShell(`${name}: ${value}`)}`,
  )
  // Without --globoff, curl would expand brackets in a URL.
  return [
    `curl --globoff ${quoteForShell(url)}`,
    ...headerOptions,
    `--data-raw ${quoteForShell(body)}`,
  ].join(' \\\n  ')
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
