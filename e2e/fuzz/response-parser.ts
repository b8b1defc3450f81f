export interface ParsedResponse {
  status: number
  headers: Map<string, string>
  body: string
}

/** Parses the responses on one connection; an incomplete response stays in `unparsed`. */
export class ResponseParser {
  readonly responses: ParsedResponse[] = []
  unparsed = ''
  #isHead: boolean
  #isClosed = false

  constructor(isHead: boolean) {
    this.#isHead = isHead
  }

  feed(bytes: Buffer): void {
    this.unparsed += bytes.toString('latin1')
    this.#parse()
  }

  /** The server has closed the connection. */
  close(): void {
    this.#isClosed = true
    this.#parse()
  }

  #parse(): void {
    for (;;) {
      const end = this.unparsed.indexOf('\r\n\r\n')
      if (end < 0) return
      const headers = readHeaders(this.unparsed.slice(0, end))
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(this.unparsed)?.[1])
      // Unparsable requests get a body even on HEAD, because the server does not know their method.
      const isHead = this.#isHead && headers.has('x-request-id')
      const parsedBody =
        isHead || status < 200
          ? { text: '', length: 0 }
          : readBody(headers, this.unparsed.slice(end + 4), this.#isClosed)
      if (!parsedBody) return
      this.unparsed = this.unparsed.slice(end + 4 + parsedBody.length)
      if (status < 200) continue
      this.responses.push({
        status,
        headers,
        body: Buffer.from(parsedBody.text, 'latin1').toString(),
      })
    }
  }
}

function readHeaders(head: string): Map<string, string> {
  const lines = head.split('\r\n').slice(1)
  return new Map(
    lines.map(line => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
}

/** Returns the body at the start of a text, and its length; null if the body is incomplete. */
function readBody(headers: Map<string, string>, text: string, isClosed: boolean) {
  if (headers.get('transfer-encoding') === 'chunked') return readChunks(text)
  // A response to HTTP/1.0 without a length ends when the connection closes.
  const endsByClose = !headers.has('content-length') && headers.get('connection') === 'close'
  if (endsByClose) return isClosed ? { text, length: text.length } : null
  const length = Number(headers.get('content-length') ?? 0)
  return text.length < length ? null : { text: text.slice(0, length), length }
}

function readChunks(text: string): { text: string; length: number } | null {
  let joined = ''
  for (let offset = 0; ; ) {
    const line = text.indexOf('\r\n', offset)
    if (line < 0) return null
    const size = Number.parseInt(text.slice(offset, line), 16)
    const next = line + 2 + size + 2
    if (text.length < next) return null
    if (size === 0) return { text: joined, length: next }
    joined += text.slice(line + 2, line + 2 + size)
    offset = next
  }
}
