import { Client } from 'pg'
import { vi } from 'vitest'

/** Returns the different statements that a call sends, in order: loops may repeat them at any time. */
export async function recordStatements(call: () => Promise<unknown>): Promise<string[]> {
  const query = vi.spyOn(Client.prototype, 'query')
  try {
    await call()
    const sent = query.mock.calls.map(([config]) => (config as unknown as { text: string }).text)
    return [...new Set(sent)]
  } finally {
    query.mockRestore()
  }
}
