const HEAD_END = '\r\n\r\n'
const LAST_CHUNK = '0\r\n\r\n'

/**
 * Parses HTTP responses one at a time, for status, end and optionally the body. Without pipelining,
 * no bytes follow the end.
 */
export class ResponseReader {
  status = 0
  #head = ''
  #body = ''
  #tail = ''
  /** Remaining bytes: undefined while reading the head, null for a chunked body. */
  #bytesLeft: number | null | undefined
  #isChunked = false
  #storesBody: boolean

  constructor(storesBody: boolean) {
    this.#storesBody = storesBody
  }

  /** Adds received bytes; returns true when the response is complete. */
  feed(bytes: Buffer): boolean {
    const text = bytes.toString('latin1')
    if (this.#bytesLeft === undefined) return this.#readHead(this.#head + text)
    return this.#readBody(text)
  }

  next(storesBody: boolean): void {
    this.#head = this.#body = this.#tail = ''
    this.#bytesLeft = undefined
    this.#storesBody = storesBody
  }

  /** Returns the body if `storesBody` is set or the status is not 200, otherwise ''. */
  body(): string {
    const text = this.#isChunked ? joinChunks(this.#body) : this.#body
    return Buffer.from(text, 'latin1').toString('utf8')
  }

  #readHead(text: string): boolean {
    const end = text.indexOf(HEAD_END)
    if (end === -1) {
      this.#head = text
      return false
    }
    const head = text.slice(0, end)
    this.status = Number(head.slice(9, 12))
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.#isChunked = length === undefined
    if (this.#isChunked && !/\r\ntransfer-encoding: *chunked/i.test(head)) {
      throw new Error(`Response without a length: ${head}`)
    }
    this.#bytesLeft = this.#isChunked ? null : Number(length)
    return this.#readBody(text.slice(end + HEAD_END.length))
  }

  #readBody(text: string): boolean {
    if (this.#storesBody || this.status !== 200) this.#body += text
    if (this.#bytesLeft == null) {
      this.#tail = (this.#tail + text).slice(-LAST_CHUNK.length - 2)
      return this.#tail === LAST_CHUNK || this.#tail.endsWith(`\r\n${LAST_CHUNK}`)
    }
    this.#bytesLeft -= text.length
    if (this.#bytesLeft < 0) throw new Error('A response was longer than its Content-Length')
    return this.#bytesLeft === 0
  }
}

function joinChunks(text: string): string {
  let joined = ''
  for (let offset = 0; offset < text.length; ) {
    const line = text.indexOf('\r\n', offset)
    const size = Number.parseInt(text.slice(offset, line), 16)
    if (!(size > 0)) break
    joined += text.slice(line + 2, line + 2 + size)
    offset = line + 2 + size + 2
  }
  return joined
}
