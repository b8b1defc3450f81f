import { servePaymentPage } from '#lib/edge/http/payer-page.ts'
import { createRouteHandler } from '#lib/edge/http/route-handler.ts'

export const GET = createRouteHandler(servePaymentPage)
