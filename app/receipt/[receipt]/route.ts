import { serveReceiptPage } from '#lib/http/receipt-page.ts'
import { createRouteHandler } from '#lib/http/route-handler.ts'

export const GET = createRouteHandler(serveReceiptPage)
