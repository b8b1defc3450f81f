import { Client, type ClientConfig, type Connection, DatabaseError } from 'pg'

/** With members of the driver that its types omit. */
const ClientWithStartup = Client as unknown as new (
  config?: ClientConfig,
) => Client & { connection: Connection; getStartupConf(): Record<string, string> }

/** Function of PostgreSQL in which a commit waits for replicas; unlike messages, it is in no language. */
const REPLICA_WAIT = 'SyncRepWaitForLSN'
/** SQLSTATE `transaction_resolution_unknown`. */
const UNKNOWN_OUTCOME = '08007'

/**
 * A connection whose session is in UTC, whatever server, database and role say (docs/decisions/056).
 * The zone is a start-up parameter and not an option: JDBC sends it too, so poolers accept it.
 */
export class UtcClient extends ClientWithStartup {
  /**
   * If the wait of a commit for a replica is cancelled, PostgreSQL warns and reports success, but the
   * commit may vanish with this server: its outcome is unknown.
   */
  constructor(config?: ClientConfig) {
    super(config)
    this.on('notice', ({ message, routine }) => {
      if (routine !== REPLICA_WAIT) return
      const error = new DatabaseError(message ?? '', 0, 'error')
      const fields = { code: UNKNOWN_OUTCOME, severity: 'ERROR' }
      this.connection.emit('errorMessage', Object.assign(error, fields))
      // The report of success that follows would meet the next statement.
      this.connection.stream.destroy()
    })
  }

  override getStartupConf(): Record<string, string> {
    return { ...super.getStartupConf(), TimeZone: 'UTC' }
  }
}
