import { type Connection, Query, type QueryConfig } from 'pg'

/** Maximum rows per message to the server: 16 of the largest charges fill a page. */
const FETCH_MAX = 16

/** Methods that the driver calls and its types omit. */
interface Handlers {
  rows: number
  handleDataRow(message: { length: number }): void
  handlePortalSuspended(connection: Connection): void
}
const QueryWithHandlers = Query as unknown as new (
  config: QueryConfig & { rows: number },
) => Query & Handlers

/**
 * Keeps rows up to `bytesMax` bytes, but always the first. The server computes a row when it is
 * fetched, so it computes few of the rows that are omitted.
 */
export class BoundedQuery extends QueryWithHandlers {
  readonly #bytesMax: number
  #bytes = 0
  #kept = 0
  #isCut = false

  constructor(config: QueryConfig, bytesMax: number) {
    super({ ...config, rows: FETCH_MAX })
    this.#bytesMax = bytesMax
  }

  /** Bytes of the rows read. */
  get bytes(): number {
    return this.#bytes
  }

  /** True if rows were omitted. */
  get isCut(): boolean {
    return this.#isCut
  }

  override handleDataRow(message: { length: number }): void {
    this.#bytes += message.length
    this.#isCut = this.#kept > 0 && this.#bytes > this.#bytesMax
    if (this.#isCut) return
    this.#kept++
    super.handleDataRow(message)
  }

  override handlePortalSuspended(connection: Connection): void {
    if (this.#isCut) {
      // Without a further fetch, the statement ends here.
      connection.sync()
      return
    }
    const rowsLeft = ((this.#bytesMax - this.#bytes) / this.#bytes) * this.#kept
    this.rows = Math.min(FETCH_MAX, Math.ceil(rowsLeft) + 1)
    super.handlePortalSuspended(connection)
  }
}
