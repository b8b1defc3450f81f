import { createRouteHandler } from '#lib/edge/http/endpoint.ts'
import { servePaymentPage } from '#lib/edge/http/payer-page.ts'

export const GET = createRouteHandler(servePaymentPage)
