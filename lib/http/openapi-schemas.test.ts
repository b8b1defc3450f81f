import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { Shapes } from '#lib/http/openapi-responses.ts'

describe('a schema in the OpenAPI document', () => {
  test('that cannot be derived is described by its `like` schema and its own description', () => {
    const like = z.int().min(1).max(9).default(5)
    const asText = z.string().transform(Number).meta({ like, description: 'How many.' })
    expect(new Shapes().convert(asText, 'input')).toEqual({
      type: 'integer',
      minimum: 1,
      maximum: 9,
      default: 5,
      description: 'How many.',
    })
  })

  test('with a name is listed once, and two schemas with the same name are refused', () => {
    const shapes = new Shapes()
    const Thing = z.object({ name: z.string() }).meta({ id: 'Thing' })
    const ref = { $ref: '#/components/schemas/Thing' }
    expect(shapes.convert(Thing, 'output')).toEqual(ref)
    expect(shapes.convert(z.array(Thing), 'output')).toEqual({ type: 'array', items: ref })
    expect(Object.keys(shapes.shared)).toEqual(['Thing'])
    const other = z.object({ title: z.string() }).meta({ id: 'Thing' })
    expect(() => shapes.convert(other, 'output')).toThrow('Two different shapes are named Thing')
  })

  test('of a response allows properties that later versions add', () => {
    expect(new Shapes().convert(z.object({ a: z.string() }), 'output')).not.toHaveProperty(
      'additionalProperties',
    )
  })

  test('gives unbounded integers the format int64, and nullable values their type', () => {
    const shapes = new Shapes()
    expect(shapes.convert(z.int(), 'output')).toEqual({ type: 'integer', format: 'int64' })
    expect(shapes.convert(z.int().min(0).max(60), 'output')).not.toHaveProperty('format')
    expect(shapes.convert(z.uuid().nullable(), 'output')).toEqual({
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

  test('is composed of the examples of its parts', () => {
    expect(shapes.exampleOf(shapes.convert(Whole, 'input'))).toEqual({
      kind: 'whole',
      part: { state: 'done', at: 'now' },
      note: 'hello',
    })
  })

  test('of the required fields omits optional ones', () => {
    expect(shapes.exampleOf(shapes.convert(Whole, 'input'), 'required')).not.toHaveProperty('note')
  })
})
