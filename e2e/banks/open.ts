import { readFileSync } from 'node:fs'
import { type KeyPair, P12_PASSPHRASE } from '#e2e/psp/certificates.ts'
import type { RunningBank } from '#e2e/psp/start.ts'
import { closeConnection } from '#lib/accounts/connections.ts'
import { addConnection } from '#lib/banks/connections.ts'
import type { Gateway } from '#lib/banks/gateway.ts'
import type { NewConnection } from '#lib/banks/schema.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'

const ACTOR = { type: 'system' } as const

/** How a connection proves who it is: PEM, or the P12 without a passphrase, with one, or in RC2. */
export type IdentityForm = 'pem' | 'p12' | 'p12-with-passphrase' | 'p12-legacy'

/** Credentials that the bank issued, as the operator's file has them. */
export function credentialsAt(
  { certificates, clientId, clientSecret }: RunningBank,
  form: IdentityForm = 'pem',
  pair: KeyPair = certificates.client,
): Record<string, string> {
  const { plain, protected: locked, legacy } = certificates.p12
  const base64 = (file: string) => readFileSync(file).toString('base64')
  const identity = {
    pem: () => ({ certificate: read(pair.cert), private_key: read(pair.key) }),
    p12: () => ({ p12: base64(plain) }),
    'p12-with-passphrase': () => ({ p12: base64(locked), passphrase: P12_PASSPHRASE }),
    'p12-legacy': () => ({ p12: base64(legacy) }),
  }
  return { client_id: clientId, client_secret: clientSecret, ...identity[form]() }
}

/** Addresses of the bank and the only authority that may issue its certificate. */
export function settingsAt({ url, certificates }: RunningBank) {
  return {
    api_url: `${url}/v2`,
    token_url: `${url}/oauth/token`,
    trusted_certificates: read(certificates.authority.cert),
  }
}

/** A connection to the bank as `bank add` takes it. */
export function connectionTo(
  bank: RunningBank,
  changes: Partial<NewConnection> = {},
): NewConnection {
  return {
    name: `Bank ${newId()}`,
    kind: 'api_pix',
    environment: 'production',
    settings: settingsAt(bank),
    credentials: JSON.stringify(credentialsAt(bank)),
    receiving_keys: bank.keys,
    ...changes,
  }
}

/** Adds a connection as the operator does, who closes that of before to the same account. Returns its id and the gateway that its adapter opened. */
export async function openAt(
  bank: RunningBank,
  changes: Partial<NewConnection> = {},
): Promise<{ id: string; gateway: Gateway }> {
  const request = connectionTo(bank, changes)
  const receivingKeys = { hasSome: [...(request.receiving_keys ?? [])] }
  const before = await db().connection.findMany({ where: { receivingKeys, disabledAt: null } })
  for (const { id } of before) await closeConnection(id, ACTOR)
  const id = await addConnection(request, ACTOR)
  return { id, gateway: await gatewayOfConnection(id) }
}

function read(file: string): string {
  return readFileSync(file, 'utf8')
}
