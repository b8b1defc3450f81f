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

type Attempted = Pick<Attempt, 'request_body' | 'response_body' | 'response_headers'>

/** Masks a document in what an attempt sent and received: a receiver may repeat the request. */
export function maskAttempt<Row extends Attempted>(attempt: Row, document: string | null): Row {
  if (document === null) return attempt
  // Up to four characters between two digits, for punctuation that a receiver escapes, as in `\\/`.
  const anyNotation = new RegExp([...normalizeTaxId(document)].join('[^0-9A-Za-z]{0,4}'), 'gi')
  const mask = (text: string) => text.replaceAll(anyNotation, maskTaxId(document))
  const { request_body, response_body, response_headers } = attempt
  return {
    ...attempt,
    request_body: request_body && mask(request_body),
    response_body: response_body && mask(response_body),
    response_headers: response_headers && JSON.parse(mask(JSON.stringify(response_headers))),
  }
}
