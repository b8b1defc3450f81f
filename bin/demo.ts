import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writePrivate } from '#bin/data-folder.ts'
import { env } from '#lib/core/settings.ts'
import { withClient, withoutLimits } from '#lib/db/server.ts'
import { verifyToken } from '#lib/tokens/authenticate.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'
import { createDemoData, DEMO_ADMIN, DEMO_MERCHANT } from '#prisma/seed.ts'

/** Advisory lock id: servers that start at once on one database create the demo data once. */
const LOCK_ID = 72_707_370

export interface Demo {
  base_url: string
  merchant: { email: string; password: string }
  admin: { email: string; password: string }
  token: string
}

/** Creates the demo data once and stores its credentials in demo.json of the data folder. */
export async function openDemo(folder: string): Promise<Demo> {
  const { DATABASE_URL = '', DEMO_PASSWORD = '', PUBLIC_URL } = env()
  // A transaction, so that the lock ends with it behind a pooler. Another process may hold it for long.
  return withClient(DATABASE_URL, 'DATABASE_URL', lock =>
    withoutLimits(lock, async () => {
      await lock.query('SELECT pg_advisory_xact_lock($1)', [LOCK_ID])
      const account = await createDemoData(DEMO_PASSWORD)
      const file = join(folder, 'demo.json')
      const demo: Demo = {
        base_url: `${PUBLIC_URL}/api`,
        merchant: { email: DEMO_MERCHANT, password: DEMO_PASSWORD },
        admin: { email: DEMO_ADMIN, password: DEMO_PASSWORD },
        token: (await findWorkingToken(file, account.id)) ?? (await issueDemoToken(account.id)),
      }
      writePrivate(file, demo)
      return demo
    }),
  )
}

async function findWorkingToken(file: string, accountId: string): Promise<string | null> {
  if (!existsSync(file)) return null
  const token = readToken(file)
  const caller = token ? await verifyToken(token) : null
  return caller?.account.id === accountId && caller.mode === 'test' ? token : null
}

/** Returns the stored token; null if the file is damaged. It is then rewritten with a new token. */
function readToken(file: string): string | null {
  try {
    const { token } = JSON.parse(readFileSync(file, 'utf8'))
    return typeof token === 'string' ? token : null
  } catch {
    return null
  }
}

async function issueDemoToken(accountId: string): Promise<string> {
  const tokenOptions = {
    accountId,
    mode: 'test' as const,
    name: 'Demo',
    permissions: [...PERMISSIONS],
  }
  const { token } = await issueToken(tokenOptions, { type: 'system' })
  return token
}
