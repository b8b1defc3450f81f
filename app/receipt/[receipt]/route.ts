import { serveReceiptPage } from '#lib/edge/http/receipt-page.ts'
import { createRouteHandler } from '#lib/edge/http/route-handler.ts'

export const GET = createRouteHandler(serveReceiptPage)
