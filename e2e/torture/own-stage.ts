import { Clients } from '#e2e/torture/clients.ts'
import type { OwnPostgres } from '#e2e/torture/own-postgres.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { type ApiProcess, startApiProcess } from '#lib/testing/api-process.ts'
import { makeMerchant, makeToken } from '#lib/testing/fixtures.ts'

export interface PostgresStage {
  postgres: OwnPostgres
  api: ApiProcess
  openClients: () => Promise<{ accountId: string; clients: Clients }>
  close: () => Promise<void>
}

/** Starts an API process on this PostgreSQL and connects the test process to it as well. */
export async function openPostgresStage(postgres: OwnPostgres): Promise<PostgresStage> {
  const api = await startApiProcess({ DATABASE_URL: postgres.url })
  const sharedUrl = env().DATABASE_URL ?? ''
  await disconnect()
  supplyEnv({ DATABASE_URL: postgres.url })
  const opened: Clients[] = []
  return {
    postgres,
    api,
    openClients: async () => {
      const { id: accountId } = await makeMerchant()
      const clients = new Clients(api.url, await makeToken(accountId))
      opened.push(clients)
      return { accountId, clients }
    },
    close: async () => {
      for (const clients of opened) await clients.stop()
      await api.close()
      await disconnect()
      supplyEnv({ DATABASE_URL: sharedUrl })
    },
  }
}
