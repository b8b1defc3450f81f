import { env } from '#lib/core/settings.ts'
import { limitByAddress } from '#lib/http/endpoint.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'
import { pageResponse, servePublicPage } from '#lib/http/public-page.ts'
import { respondTo } from '#lib/http/respond.ts'
import { codeHeaders, json } from '#lib/http/response.ts'
import { createRouteHandler } from '#lib/http/route-handler.ts'
import { renderReceipt, renderRefusedReceipt } from '#lib/payer/receipt.ts'
import { compareWithRecord } from '#lib/payer/receipt-record.ts'
import { listReceiptKeys, readCurrentKey } from '#lib/receipts/keys.ts'
import { RECEIPT_PATH, verifyReceipt } from '#lib/receipts/sign.ts'

const CACHE_KEYS = 'public, max-age=300'

/**
 * Serves the page on which a receipt proves itself. Reads the path as it was sent: the decoded one
 * would let several URLs name a receipt. Query parameters, which messengers add, mean nothing.
 */
export function serveReceiptPage(incoming: HttpRequest): Promise<HttpResponse> {
  const respond: Parameters<typeof servePublicPage>[1] = async ({ texts }) => {
    const { PUBLIC_URL } = env()
    const [path = ''] = incoming.url.split('?')
    const verdict = await verifyReceipt(path.slice(RECEIPT_PATH.length))
    if (verdict.state !== 'signed') {
      const content = renderRefusedReceipt(verdict.state, PUBLIC_URL, texts)
      return pageResponse(404, content, texts, codeHeaders('receipt_refused'))
    }
    const { facts, keyId } = verdict
    const agreement = await compareWithRecord(facts)
    return pageResponse(200, renderReceipt({ facts, keyId, agreement }, PUBLIC_URL, texts), texts)
  }
  return servePublicPage(incoming, respond, 'receiptDown')
}

/** Serves the public keys as a JSON Web Key Set, so that others can verify receipts as well. */
function serveReceiptKeys(incoming: HttpRequest): Promise<HttpResponse> {
  return respondTo(incoming, 'field_messages', async state => {
    await limitByAddress(state)
    await readCurrentKey()
    const rows = await listReceiptKeys()
    const keys = rows.flatMap(({ id, publicKey: x, withdrawnAt }) =>
      withdrawnAt ? [] : [{ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', kid: id, x }],
    )
    const withdrawn = rows.flatMap(({ id, withdrawnAt }) =>
      withdrawnAt ? [{ kid: id, withdrawn_at: withdrawnAt.toISOString() }] : [],
    )
    const body = { issuer: env().PUBLIC_URL, keys, withdrawn }
    return json(200, body, { 'cache-control': CACHE_KEYS })
  })
}

const keysHandler = createRouteHandler(serveReceiptKeys)

/** Not a route file: the compiler and the linter pass over folders that begin with a dot. */
export const RECEIPT_KEYS_ROUTE = {
  handlers: new Map([
    ['GET', keysHandler],
    ['HEAD', keysHandler],
  ]),
  route: '',
  params: {},
}
