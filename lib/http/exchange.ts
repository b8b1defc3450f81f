import type { LogContext } from '#lib/core/log.ts'

/** Request in the form that endpoints use, built from node:http or from Next. */
export interface HttpRequest {
  method: string
  url: string
  ip: string
  requestId: string | undefined
  /** Log context that the front reads when it logs the response; undefined under Next. */
  logContext?: LogContext
  /** Template of the path under /api; empty if unknown. */
  route: string
  params: Record<string, string>
  header(name: string): string | null
  /** Whether the body has arrived, so that reading it does not wait for the caller. */
  isBodyComplete(): boolean
  /** Reads the whole body; null if longer than `bytesMax`. Throws if the caller disconnects. */
  readBody(bytesMax: number): Promise<Uint8Array | null>
  /** Calls back when the response has left the process or the caller has disconnected. */
  onEnd(callback: () => void): void
}

export interface HttpResponse {
  status: number
  headers: Record<string, string>
  text: string
  /** Body that is no text, instead of `text`. */
  bytes?: Buffer<ArrayBuffer>
  /** Body streamed in chunks, instead of `text`. Ends when the caller disconnects. */
  chunks?: AsyncIterable<string>
}

/** Responses with these statuses have no body, not even an empty one with a length. */
export function hasBody(status: number): boolean {
  return status !== 204 && status !== 304
}
