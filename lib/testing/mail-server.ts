import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { makeCertificate } from '#lib/testing/certificate.ts'

const MAIL_LOGIN = { user: 'troco', password: 'only: for/this@test' }

interface ReceivedMail {
  /** Recipients of the SMTP envelope, not of the headers. */
  to: string[]
  subject: string
  text: string
  rawHeaders: string
}

interface MailServer {
  /** Value for SMTP_URL, with login and the server's certificate. */
  url: string
  /** Value for SMTP_URL without the certificate, which clients then do not trust. */
  untrustedUrl: string
  received: ReceivedMail[]
  /** Handles each mail after it was read; accepts it by default. */
  setHandler: (handler: (mail: ReceivedMail) => Promise<void>) => void
  close: () => Promise<void>
}

/** Opens a mail server that requires TLS and a password; if `isPlain`, one that knows neither. */
export async function openMailServer(port = 0, isPlain = false): Promise<MailServer> {
  const received: ReceivedMail[] = []
  const { cert, key } = makeCertificate(['127.0.0.1'])
  let handle = async (_mail: ReceivedMail) => {}
  const server = new SMTPServer({
    cert,
    key,
    disabledCommands: isPlain ? ['STARTTLS', 'AUTH'] : [],
    onAuth({ username, password, method }, _session, done) {
      const isKnown = username === MAIL_LOGIN.user && password === MAIL_LOGIN.password
      done(isKnown ? null : new Error(`Nobody is let in by ${method}`), { user: username })
    },
    async onData(stream, { envelope, secure }, done) {
      const chunks: Buffer[] = []
      for await (const chunk of stream) chunks.push(chunk as Buffer)
      const to = envelope.rcptTo.map(({ address }) => address)
      const mail = { to, ...parseMail(Buffer.concat(chunks).toString('latin1')) }
      if (!secure && !isPlain) return done(new Error('This came over a line that others can read'))
      received.push(mail)
      await handle(mail).then(() => done(), done)
    },
  })
  server.on('error', () => {})
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  const { port: boundPort } = server.server.address() as AddressInfo
  const login = `${MAIL_LOGIN.user}:${encodeURIComponent(MAIL_LOGIN.password)}`
  const untrustedUrl = `smtp://${login}@127.0.0.1:${boundPort}`
  return {
    url: `${untrustedUrl}?tls.ca=${encodeURIComponent(cert)}`,
    untrustedUrl,
    received,
    setHandler: handler => {
      handle = handler
    },
    close: () => new Promise(resolve => server.close(() => resolve())),
  }
}

/** Reads a mail with one text part (RFC 2045 and 2047). */
function parseMail(raw: string): Omit<ReceivedMail, 'to'> {
  const [rawHeaders = '', ...rest] = raw.split('\r\n\r\n')
  const lines = rawHeaders.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
  const header = (name: string) =>
    lines.find(line => line.toLowerCase().startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
  const body = decodeBody(rest.join('\r\n\r\n'), header('content-transfer-encoding'))
  return {
    rawHeaders,
    subject: decodeEncodedWords(header('subject')),
    text: body.replaceAll('\r\n', '\n'),
  }
}

function decodeEncodedWords(header: string): string {
  const bytes = header
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64').toString('latin1')
        : decodeQuotedPrintable(text.replaceAll('_', ' ')),
    )
  return Buffer.from(bytes, 'latin1').toString()
}

function decodeBody(body: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString()
  const bytes =
    encoding === 'quoted-printable' ? decodeQuotedPrintable(body.replace(/=\r\n/g, '')) : body
  return Buffer.from(bytes, 'latin1').toString()
}

function decodeQuotedPrintable(text: string): string {
  return text.replace(/=([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
}
