import { useDeliveryProblem } from '#components/api/problem.tsx'
import { useDurations } from '#components/format/format.tsx'
import type { DiffLine } from '#components/ui/code.tsx'
import type { Attempt } from '#lib/webhooks/schema.ts'

type AttemptResult = Pick<Attempt, 'response_status' | 'problem_code' | 'problem_params'>

export function useAttemptText() {
  const problem = useDeliveryProblem()
  const { callDuration } = useDurations()
  const brief = (attempt: AttemptResult) =>
    attempt.response_status === null ? (problem.brief(attempt) ?? '') : `${attempt.response_status}`
  return {
    brief,
    withTime: (attempt: AttemptResult, ms: number | null) =>
      ms === null ? '—' : `${brief(attempt)} · ${callDuration(ms)}`,
    /** Explains a failure to the operator of the receiver; null after a success. */
    meaning: problem.meaning,
  }
}

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

/** Headers that differ in every response and carry no information. */
const NOISE_HEADERS = /^(date|age|x-request-id|cf-ray|etag): /i

/** Returns a line diff of two responses; empty when they are equal. */
export function diffResponses(before: string, after: string): DiffLine[] {
  const [oldLines, newLines] = [before, after].map(text =>
    text.split('\n').filter(line => !NOISE_HEADERS.test(line)),
  ) as [string[], string[]]
  const lines = buildDiff(oldLines, newLines, commonLengths(oldLines, newLines))
  return lines.some(({ sign }) => sign !== ' ') ? lines : []
}

/** At [i][j]: length of the longest common subsequence of old lines from i and new from j. */
function commonLengths(oldLines: string[], newLines: string[]): number[][] {
  const lengths = Array.from({ length: oldLines.length + 1 }, () =>
    Array(newLines.length + 1).fill(0),
  )
  for (let i = oldLines.length - 1; i >= 0; i--) {
    for (let j = newLines.length - 1; j >= 0; j--) {
      const [row = [], next = []] = [lengths[i], lengths[i + 1]]
      row[j] = oldLines[i] === newLines[j] ? 1 + next[j + 1] : Math.max(next[j], row[j + 1])
    }
  }
  return lengths
}

function buildDiff(oldLines: string[], newLines: string[], lengths: number[][]): DiffLine[] {
  const lines: DiffLine[] = []
  const lengthAt = (i: number, j: number) => lengths[i]?.[j] ?? 0
  let [i, j] = [0, 0]
  while (i < oldLines.length || j < newLines.length) {
    if (i < oldLines.length && oldLines[i] === newLines[j]) {
      lines.push({ sign: ' ', text: oldLines[i++] ?? '' })
      j++
    } else if (
      i < oldLines.length &&
      (j >= newLines.length || lengthAt(i + 1, j) >= lengthAt(i, j + 1))
    ) {
      lines.push({ sign: '-', text: oldLines[i++] ?? '' })
    } else lines.push({ sign: '+', text: newLines[j++] ?? '' })
  }
  return lines
}
