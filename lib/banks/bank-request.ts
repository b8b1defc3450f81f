import type { Actor } from '#lib/audit/record.ts'
import { type Announce, addConnection } from '#lib/banks/add-connection.ts'
import { findCredentialsFlaw } from '#lib/banks/api-pix/credentials.ts'
import type { BankRequest, CredentialsRequest } from '#lib/banks/schema.ts'
import { invalidInput, isTrocoError } from '#lib/core/errors.ts'

/** Returns the text of the credentials that the adapter reads. Refuses them by the field to change. */
export function credentialsOf(request: CredentialsRequest): string {
  const { client_id, client_secret, app_key, certificate, private_key, p12, passphrase } = request
  const identity = { certificate, private_key, p12, passphrase }
  const credentials = JSON.stringify({ client_id, client_secret, app_key, ...identity })
  const flaw = findCredentialsFlaw(credentials)
  if (flaw) throw invalidInput(flaw.field, flaw.rule)
  return credentials
}

/** Adds the connection of a form, whose fields have other names than the settings of an adapter. */
export async function addRequested(
  request: BankRequest,
  actor: Actor,
  announce: Announce,
): Promise<string> {
  const { name, kind, environment, profile, receiving_keys, paying_key } = request
  const { api_url, token_url, trusted_certificates, payouts_in_flight } = request
  const settings = { api_url, token_url, trusted_certificates, payouts_in_flight }
  const connection = {
    ...{ name, kind, environment, profile, receiving_keys, paying_key },
    settings: JSON.parse(JSON.stringify(settings)),
    credentials: credentialsOf(request),
  }
  try {
    return await addConnection(connection, actor, announce)
  } catch (error) {
    const [rule] = (isTrocoError(error) && error.fields?.settings) || []
    // Of the settings, only the addresses can be wrong by now.
    throw rule === undefined ? error : invalidInput('api_url', rule.replace(/^settings /, ''))
  }
}
