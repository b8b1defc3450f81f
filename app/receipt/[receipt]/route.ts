import { serveReceiptPage } from '#lib/http/public-pages.ts'
import { createRouteHandler } from '#lib/http/route-handler.ts'

export const GET = createRouteHandler(serveReceiptPage)
