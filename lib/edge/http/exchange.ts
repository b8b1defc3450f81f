/** A request as the edge reads it, whoever took it off the wire. */
export interface Incoming {
  method: string
  /** Path and query, as they were sent. */
  url: string
  ip: string
  requestId: string | undefined
  params: Record<string, string>
  header(name: string): string | null
  /** The whole body; null when it is longer than `bytesMax`. Fails when the caller hangs up. */
  readBody(bytesMax: number): Promise<Uint8Array | null>
}

/** An answer before anybody writes it. */
export interface Answer {
  status: number
  headers: Record<string, string>
  text: string
  /** What follows instead of the text, as it comes; whoever hangs up ends it. */
  chunks?: AsyncIterable<string>
}
