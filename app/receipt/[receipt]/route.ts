import { serveReceiptPage } from '#lib/http/public-pages.ts'
import { createRouteHandler } from '#lib/http/route-handler.ts'
import { endpoints } from '#lib/http/routes.ts'

export const { GET } = endpoints({ 'GET /receipt/[receipt]': createRouteHandler(serveReceiptPage) })
