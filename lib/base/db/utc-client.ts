import { Client, type ClientConfig } from 'pg'

/** With a method that the driver calls and its types omit. */
const ClientWithStartup = Client as unknown as new (
  config?: ClientConfig,
) => Client & { getStartupConf(): Record<string, string> }

/**
 * A connection whose session is in UTC, whatever server, database and role say (docs/decisions/056).
 * The zone is a start-up parameter and not an option: JDBC sends it too, so poolers accept it.
 */
export class UtcClient extends ClientWithStartup {
  override getStartupConf(): Record<string, string> {
    return { ...super.getStartupConf(), TimeZone: 'UTC' }
  }
}
