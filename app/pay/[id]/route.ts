import { routeOf } from '#lib/http/endpoint.ts'
import { servePayer } from '#lib/payer/serve.ts'

export const GET = routeOf(servePayer)
