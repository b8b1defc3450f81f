import type { CodeWithoutParams, Problem } from '#lib/webhooks/problem.ts'

export class ExchangeError extends Error {
  override readonly name = 'ExchangeError'
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.code)
    this.problem = problem
  }
}

export function exchangeError(code: CodeWithoutParams): ExchangeError {
  return new ExchangeError({ code, params: {} })
}

/** Maps error codes of Node, OpenSSL and the HTTP parser to problems. */
const ERROR_PATTERNS: [RegExp, CodeWithoutParams][] = [
  [/^ECONNREFUSED$/, 'refused'],
  [/^(ECONNRESET|EPIPE|ECONNABORTED)$/, 'closed'],
  [
    /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EHOSTDOWN|ENETDOWN|EACCES|EPERM)$/,
    'unreachable',
  ],
  [/^HPE_HEADER_OVERFLOW$/, 'header_too_large'],
  [/^HPE_/, 'not_http'],
  [/^CERT_HAS_EXPIRED$/, 'certificate_expired'],
  [/CERT|^UNABLE_TO_|^HOSTNAME_MISMATCH$/, 'certificate_untrusted'],
  [/^(EPROTO|ERR_SSL_|ERR_TLS_)/, 'tls'],
]

export function errorToProblem(error: unknown, hostname: string): Problem {
  // Compares names, not classes: a process can load this module twice.
  const { name: kind, problem, code = '' } = error as ExchangeError & NodeJS.ErrnoException
  if (kind === 'ExchangeError') return problem
  if (/^ERR_TLS_CERT_ALTNAME/.test(code))
    return { code: 'certificate_name', params: { name: hostname } }
  const match = ERROR_PATTERNS.find(([pattern]) => pattern.test(code))
  return { code: match?.[1] ?? 'not_called', params: {} }
}
