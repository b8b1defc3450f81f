import { Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { maskTaxId, normalizeTaxId } from '#lib/base/pix/tax-id.ts'
import type { DueDelivery } from '#lib/services/webhooks/claim-deliveries.ts'
import type { Attempt } from '#lib/services/webhooks/wire.ts'

type Recipient = Pick<DueDelivery, 'accountId' | 'endpointId' | 'event'>

/**
 * Returns which of the deliveries contain payers' documents in full (docs/decisions/023). Call it
 * after the claim: whoever changes a URL clears the flag in the same transaction, so a delivery
 * claimed with the new URL always sees the new flag.
 */
export async function readDocumentRule(due: Recipient[]): Promise<(one: Recipient) => boolean> {
  const toEndpoints = due.filter(({ endpointId }) => endpointId !== null)
  const keys = [...new Set(toEndpoints.map(one => `${one.accountId} ${one.endpointId}`))]
  const pairs = keys.map(key => key.split(' '))
  const masked =
    pairs.length === 0
      ? []
      : await queryRows<{ id: string }>(Prisma.sql`
          SELECT json_build_object('id', p.id)::text AS json
          FROM unnest(${pairs.map(([accountId]) => accountId)}::uuid[],
            ${pairs.map(([, id]) => id)}::uuid[]) k (account_id, id)
          JOIN webhook_endpoints p USING (account_id, id) WHERE NOT p.full_documents`)
  const maskedIds = new Set(masked.map(({ id }) => id))
  return ({ endpointId, event }) => {
    const { webhook_masked } = event.resource as { webhook_masked?: boolean }
    return endpointId === null ? webhook_masked !== true : !maskedIds.has(endpointId)
  }
}

interface Body {
  transaction?: { client_doc: string }
  client?: { doc: string }
}

/** Masks the document in a serialized event. A body without one stays as it is. */
export function maskBody(text: string): string {
  const body = JSON.parse(text) as Body
  const { transaction, client } = body
  if (!transaction) return text
  transaction.client_doc = maskTaxId(transaction.client_doc)
  if (client) client.doc = maskTaxId(client.doc)
  return JSON.stringify(body)
}

type Attempted = Pick<
  Attempt,
  'request_headers' | 'request_body' | 'response_body' | 'response_headers'
>

/**
 * Returns whether attempts may have sent a document in full. Every attempt starts from the body that
 * the first one stored, so only that body, already masked, proves that none did. It may be pruned.
 */
export function mayHaveSentDocument(attempts: Attempted[], document: string | null): boolean {
  const [first] = attempts
  if (document === null || !first) return false
  return (
    first.request_body === null || maskText(first.request_body, document) !== first.request_body
  )
}

/**
 * Hides a document in what an attempt sent and received. The signature is removed, because it proves
 * a guess: the mask of a CPF leaves 1,000. So is the response, which may repeat the request encoded.
 */
export function hideDocument<Row extends Attempted>(attempt: Row, document: string): Row {
  const { request_headers, request_body } = attempt
  const { 'webhook-signature': _, ...headers } = request_headers
  return {
    ...attempt,
    request_headers: headers,
    request_body: request_body && maskText(request_body, document),
    response_headers: null,
    response_body: null,
  }
}

/** Masks a document in a body, also in texts of the merchant that repeat it. */
function maskText(text: string, document: string): string {
  // Up to four characters between two digits, for punctuation.
  const anyNotation = new RegExp([...normalizeTaxId(document)].join('[^0-9A-Za-z]{0,4}'), 'gi')
  return maskBody(text).replaceAll(anyNotation, maskTaxId(document))
}
