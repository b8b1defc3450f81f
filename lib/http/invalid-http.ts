import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { securityHeaders } from '#lib/http/headers.ts'
import { refusalResponse } from '#lib/http/response.ts'

const CLOSE_DELAY_MS = 500

/** Responds in JSON to input that is not valid HTTP, then closes the connection. */
export function refuseInvalidHttp(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    refuseAndClose(socket, refuse('headers_too_large'))
  } else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    refuseAndClose(socket, refuse('request_timeout'))
  } else {
    refuseAndClose(socket, refuse('malformed_request'))
  }
}

export function refuseAndClose(socket: Duplex, error: TrocoError): void {
  const { status, headers, text } = refusalResponse(error)
  const lines = Object.entries({
    ...headers,
    'content-length': Buffer.byteLength(text),
    connection: 'close',
    ...securityHeaders(),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`)
  // A caller that never closes its side would hold the connection open forever.
  setTimeout(() => socket.destroy(), CLOSE_DELAY_MS).unref()
}
