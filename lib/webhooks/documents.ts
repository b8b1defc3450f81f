import { parseExactJson } from '#lib/core/exact-json.ts'
import { maskTaxId, normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/rows.ts'
import type { DueDelivery } from '#lib/webhooks/claim-deliveries.ts'
import type { Attempt } from '#lib/webhooks/delivery-wire.ts'

type Recipient = Pick<DueDelivery, 'accountId' | 'endpointId' | 'url' | 'event'>

/**
 * Returns which of the deliveries contain payers' documents in full (docs/decisions/023). The flag of
 * an endpoint is for its present URL: a delivery to an earlier one, which a member without the
 * permission may have set, is masked. Call it after the claim: whoever changes a URL clears the flag
 * in the same transaction.
 */
export async function readDocumentRule(due: Recipient[]): Promise<(one: Recipient) => boolean> {
  const toEndpoints = due.filter(({ endpointId }) => endpointId !== null)
  const receivers = [...new Map(toEndpoints.map(one => [keyOf(one), one])).values()]
  const full =
    receivers.length === 0
      ? []
      : await queryRows<Pick<Recipient, 'accountId' | 'endpointId' | 'url'>>(Prisma.sql`
          SELECT json_build_object('accountId', p.account_id, 'endpointId', p.id, 'url', p.url)::text
            AS json
          FROM unnest(${receivers.map(({ accountId }) => accountId)}::uuid[],
            ${receivers.map(({ endpointId }) => endpointId)}::uuid[],
            ${receivers.map(({ url }) => url)}::text[]) k (account_id, id, url)
          JOIN webhook_endpoints p USING (account_id, id, url) WHERE p.full_documents`)
  const fullKeys = new Set(full.map(keyOf))
  return one => {
    const { webhook_masked } = one.event.resource as { webhook_masked?: boolean }
    return one.endpointId === null ? webhook_masked !== true : fullKeys.has(keyOf(one))
  }
}

function keyOf({ accountId, endpointId, url }: Omit<Recipient, 'event'>): string {
  return `${accountId} ${endpointId} ${url}`
}

interface Body {
  transaction?: { client_doc: string }
  client?: { doc: string }
}

/** Masks the document in a serialized event. A body without one stays as it is. */
export function maskBody(text: string): string {
  const body = parseExactJson(text) as Body
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
