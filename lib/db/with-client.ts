import type { Client } from 'pg'
import { setupError } from '#lib/core/errors.ts'
import { UtcClient } from '#lib/db/utc-client.ts'

/** Codes for messages of the driver that mean an absent database; its other errors are settings to correct. */
const CODES: Record<string, string> = {
  'timeout expired': 'ETIMEDOUT',
  'Connection terminated unexpectedly': 'ECONNRESET',
}

/** Connects once, outside of the pool. `variable` is named in the error if that fails. */
export async function withClient<T>(
  url: string,
  variable: 'DATABASE_URL' | 'DATABASE_OWNER_URL',
  work: (client: Client) => Promise<T>,
): Promise<T> {
  let client: Client
  try {
    client = new UtcClient({ connectionString: url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    await client.connect()
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const target = describeTarget(url) ?? variable
    throw setupError(
      `The database at ${target} is unreachable (${code ?? message}): check ${variable} and that PostgreSQL is running`,
      // Without the message, which can name the password.
      { code: code ?? CODES[message] },
    )
  }
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}

// With an unescaped / ? or # in a password, the message would show a part of the password.
function describeTarget(url: string): string | null {
  const parsed = URL.parse(url)
  const isWhole = parsed && !`${parsed.pathname}${parsed.search}${parsed.hash}`.includes('@')
  return isWhole ? `${parsed.host}${parsed.pathname}` : null
}
