/** Why we hung up ourselves. The message is for the merchant. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
}

/** What each code of Node, OpenSSL and the parser means for the one who runs the receiver. */
const WORDS: [RegExp, (name: string) => string][] = [
  [/^ECONNREFUSED$/, () => 'The receiver refuses connections: check that it runs and the port'],
  [
    /^(ECONNRESET|EPIPE|ECONNABORTED)$/,
    () => 'The receiver closed the connection before it answered',
  ],
  [
    /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EHOSTDOWN|ENETDOWN|EACCES|EPERM)$/,
    () => 'The receiver could not be reached: check its network and firewall',
  ],
  [/^HPE_HEADER_OVERFLOW$/, () => "The head of the receiver's answer is too large"],
  [/^HPE_/, () => "The receiver's answer is not valid HTTP"],
  [/^ERR_TLS_CERT_ALTNAME/, name => `The receiver's certificate is not for ${name}`],
  [/^CERT_HAS_EXPIRED$/, () => "The receiver's certificate has expired: renew it"],
  [
    /CERT|^UNABLE_TO_|^HOSTNAME_MISMATCH$/,
    () => "The receiver's certificate is not trusted: let it send the whole chain of a public one",
  ],
  [/^(EPROTO|ERR_SSL_|ERR_TLS_)/, () => 'The receiver does not speak TLS 1.2 or newer correctly'],
]

export function problemOfFailure(error: unknown, name: string): string {
  // By name and code: one process can hold these classes twice.
  const { name: kind, message, code } = error as NodeJS.ErrnoException
  if (kind === 'Stopped') return message
  const found = WORDS.find(([pattern]) => pattern.test(code ?? ''))
  return found?.[1](name) ?? 'The receiver could not be called'
}
