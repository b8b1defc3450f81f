/** The words of lib/services/webhooks/failure.ts, target.ts and response.ts, by what they mean. */
const KINDS = [
  ['status', /answered \d/],
  ['redirect', /redirects/],
  ['dns', /could not be found/],
  ['refused', /refuses connections/],
  ['timeout', /did not answer within|reached in time/],
  ['unreached', /could not be reached/],
  ['closed', /closed the connection/],
  ['certificate', /certificate/],
  ['tls', /TLS/],
  ['http', /not valid HTTP|too large|no answer|another protocol/],
  ['address', /must not|must be an|leads back|not a URL|public addresses/],
] as const

export type ProblemKind = (typeof KINDS)[number][0] | 'other'

/** What kind of failure the server's sentence tells of, so that it can be said in any language. */
export function problemKind(problem: string): ProblemKind {
  return KINDS.find(([, pattern]) => pattern.test(problem))?.[0] ?? 'other'
}
