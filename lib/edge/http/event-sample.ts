import type * as z from 'zod'
import { type Json, SHARED, Shapes } from '#lib/edge/http/openapi-schemas.ts'

/** Makes events as the document shows them, from the shape of a page of events. */
export function eventSamples(page: z.ZodType): (type: string) => Json {
  const shapes = new Shapes()
  shapes.of(page, 'output')
  return type => shapes.exampleOf({ $ref: SHARED + shapes.webhooks.get(type) }) as Json
}
