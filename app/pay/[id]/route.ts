import { servePaymentPage } from '#lib/http/payer-page.ts'
import { createRouteHandler } from '#lib/http/route-handler.ts'

export const GET = createRouteHandler(servePaymentPage)
