import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { Shapes } from '#lib/edge/http/openapi-schemas.ts'

describe('a schema in the document', () => {
  test('that cannot be read off is told as the one that it is like, in its own words', () => {
    const like = z.int().min(1).max(9).default(5)
    const asText = z.string().transform(Number).meta({ like, description: 'How many.' })
    expect(new Shapes().of(asText, 'input')).toEqual({
      type: 'integer',
      minimum: 1,
      maximum: 9,
      default: 5,
      description: 'How many.',
    })
  })

  test('that has a name is told once, and two of one name are refused', () => {
    const shapes = new Shapes()
    const Thing = z.object({ name: z.string() }).meta({ id: 'Thing' })
    const ref = { $ref: '#/components/schemas/Thing' }
    expect(shapes.of(Thing, 'output')).toEqual(ref)
    expect(shapes.of(z.array(Thing), 'output')).toEqual({ type: 'array', items: ref })
    expect(Object.keys(shapes.shared)).toEqual(['Thing'])
    const other = z.object({ title: z.string() }).meta({ id: 'Thing' })
    expect(() => shapes.of(other, 'output')).toThrow('Two different shapes are named Thing')
  })

  test('leaves an answer open for what a later version adds', () => {
    expect(new Shapes().of(z.object({ a: z.string() }), 'output')).not.toHaveProperty(
      'additionalProperties',
    )
  })

  test('says of whole numbers how wide they are, and of what may be null its type', () => {
    const shapes = new Shapes()
    expect(shapes.of(z.int(), 'output')).toEqual({ type: 'integer', format: 'int64' })
    expect(shapes.of(z.int().min(0).max(60), 'output')).not.toHaveProperty('format')
    expect(shapes.of(z.uuid().nullable(), 'output')).toEqual({
      type: ['string', 'null'],
      format: 'uuid',
    })
  })
})

describe('an example', () => {
  const shapes = new Shapes()
  const Part = z.object({
    state: z.enum(['open', 'done']),
    at: z.string().meta({ examples: ['now'] }),
  })
  const Whole = z.object({
    kind: z.literal('whole'),
    part: Part.meta({ id: 'Part' }).meta({ sample: { state: 'done' } }),
    note: z
      .string()
      .optional()
      .meta({ examples: ['hello'] }),
  })

  test('is put together from those of its parts', () => {
    expect(shapes.exampleOf(shapes.of(Whole, 'input'))).toEqual({
      kind: 'whole',
      part: { state: 'done', at: 'now' },
      note: 'hello',
    })
  })

  test('of the least holds only what must be there', () => {
    expect(shapes.exampleOf(shapes.of(Whole, 'input'), 'required')).not.toHaveProperty('note')
  })
})
