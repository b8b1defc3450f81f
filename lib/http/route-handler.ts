import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'
import { fromRequest, toResponse } from '#lib/http/web.ts'

interface RouteContext {
  /** Resolves to undefined if the path has no variable parts. */
  params: Promise<Record<string, string> | undefined>
}

/** Export of a route module: the handler for Next, and `serve`, which the front calls directly. */
export interface RouteHandler {
  (request: Request, context: RouteContext): Promise<Response>
  serve: (incoming: HttpRequest) => Promise<HttpResponse>
}

export function createRouteHandler(serve: RouteHandler['serve']): RouteHandler {
  const handler = async (request: Request, { params }: RouteContext) =>
    toResponse(await serve(fromRequest(request, (await params) ?? {})))
  return Object.assign(handler, { serve })
}
