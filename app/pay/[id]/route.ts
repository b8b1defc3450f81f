import { routeOf } from '#lib/edge/http/endpoint.ts'
import { servePayer } from '#lib/edge/http/payer-page.ts'

export const GET = routeOf(servePayer)
