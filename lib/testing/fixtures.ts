import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { createCharge } from '#lib/charges/create.ts'
import type { CreatedCharge } from '#lib/charges/schema.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId, newRoutableId } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db, disconnect } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { createFront } from '#lib/http/front.ts'
import { storeRequests } from '#lib/http/request-log.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import { CANARY } from '#lib/testing/canary.ts'
import { CHARGE } from '#lib/testing/charge.ts'
import { makeDatabase, runAsOwner } from '#lib/testing/database.ts'
import { validateResponses } from '#lib/testing/response-validator.ts'
import { openAccountWithOwner } from '#lib/testing/verified.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS, type Permission } from '#lib/tokens/schema.ts'

export { CANARY, CHARGE, makeDatabase, runAsOwner }

const ACTOR = { type: 'system' } as const

export function makeMerchant(name = 'Padaria do Teste'): Promise<Account> {
  return openAccountWithOwner(name)
}

export async function makeToken(
  accountId: string,
  options: {
    permissions?: Permission[]
    expiresAt?: Date
    mode?: Mode
    allowedAddresses?: string[]
  } = {},
): Promise<string> {
  const defaults = { mode: 'test' as const, name: 'test', permissions: [...PERMISSIONS] }
  return (await issueToken({ accountId, ...defaults, ...options }, ACTOR)).token
}

export function openCharge(merchant: Account, amount = CHARGE.amount): Promise<CreatedCharge> {
  return createCharge(merchant, 'test', { ...CHARGE, amount }, null)
}

/** A first request with an idempotency key, for an operation that is called without the API. */
export function makeIdempotentRequest(accountId: string): IdempotentRequest {
  const scope = { accountId, mode: 'test', path: '/', key: newId() } as const
  return {
    ...scope,
    requestHash: new Uint8Array(32),
    retentionS: 60,
    id: newRoutableId(accountId),
    isResumed: false,
    lockedBy: null,
  }
}

/** Gives a merchant a balance by paying a charge. */
export async function fundMerchant(merchant: Account, amount: number): Promise<void> {
  const { id } = await openCharge(merchant, amount)
  await simulateCharge(merchant.id, id, 'paid')
}

/** Expects no findings in the merchant's ledger. For the end of every test that moves money. */
export async function expectBalancedLedger(accountId: string): Promise<void> {
  const { findings } = await verifyLedger(db(), accountId)
  expect(findings.filter(finding => finding.violation)).toEqual([])
}

/** Gives a test file its own database, for workers that claim the due rows of all accounts. */
export function inOwnDatabase(): void {
  const sharedUrl = env().DATABASE_URL ?? ''
  beforeAll(async () => {
    // An earlier file of the process may have left connections to the shared database.
    await disconnect()
    supplyEnv({ DATABASE_URL: await makeDatabase() })
  })
  afterAll(async () => {
    await disconnect()
    supplyEnv({ DATABASE_URL: sharedUrl })
  })
}

export interface Api {
  url: string
  close: () => Promise<void>
}

/**
 * Starts the API on a port of its own, as the product serves it, without pages. Closing it fails if
 * any response differed from the OpenAPI document.
 */
export async function startApi(): Promise<Api> {
  // With vitest.next.config.ts all tests share the product in a process of its own.
  const sharedUrl = process.env.E2E_API_URL
  if (sharedUrl) return { url: sharedUrl, close: disconnect }
  const front = await createFront(async (_request, response) => {
    response.writeHead(404).end()
  })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  const { port } = front.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const document = await fetch(`${url}/api/openapi.json`)
  const listProblems = validateResponses(front, await document.text())
  const close = async () => {
    front.closeAllConnections()
    front.close()
    // The next file of the process finds every place for its own requests.
    await storeRequests()
    await disconnect()
    expect(listProblems(), 'what was answered, held to /api/openapi.json').toEqual([])
  }
  return { url, close }
}

export async function startApiWithMerchant(): Promise<{
  api: Api
  merchant: Account
  token: string
}> {
  const merchant = await makeMerchant()
  return { api: await startApi(), merchant, token: await makeToken(merchant.id) }
}
