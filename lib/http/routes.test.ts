import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { loadRoutes, matchRoute } from '#lib/http/routes.ts'

function route(path: string) {
  return { path, segments: path.split('/').slice(1), handlers: new Map() }
}

const ROUTES = ['/things/[id]', '/things/mine', '/[kind]/mine', '/things/[id]/parts/[part]'].map(
  route,
)

function find(path: string) {
  const match = matchRoute(ROUTES, path)
  const route = ROUTES.find(({ handlers }) => handlers === match?.handlers)
  return match && { path: route?.path, params: match.params }
}

describe('matching a path', () => {
  test('prefers a fixed segment to a parameter, whatever the order of the files', () => {
    expect(find('/things/mine')).toEqual({ path: '/things/mine', params: {} })
    expect(find('/other/mine')).toEqual({ path: '/[kind]/mine', params: { kind: 'other' } })
    expect(find('/things/7')).toEqual({ path: '/things/[id]', params: { id: '7' } })
    const match = matchRoute([...ROUTES].reverse(), '/things/mine')
    expect(match?.params).toEqual({})
  })

  test('decodes each segment, and an encoded slash does not split it', () => {
    expect(find('/things/a%2Fb/parts/%C3%A7%20%3F')).toEqual({
      path: '/things/[id]/parts/[part]',
      params: { id: 'a/b', part: 'ç ?' },
    })
  })

  test.each(['/things/%', '/things/%zz', '/things/%ff', '/things/%ed%a0%80', '/things/a%00b'])(
    'matches nothing for %s, which is not valid text',
    path => {
      expect(find(path)).toBeNull()
    },
  )

  test.each(['', '/', '/things', '/Things/mine/x', '/things/7/parts', '/things/7/parts/8/9'])(
    'matches nothing for %j',
    path => {
      expect(find(path)).toBeNull()
    },
  )
})

describe('loading the routes', () => {
  test("finds every route module except next-auth's, and adds HEAD to GET", async () => {
    const found = (await loadRoutes()).map(({ segments, handlers }) => [
      `/${segments.join('/')}`,
      [...handlers.keys()],
    ])
    expect(found).toContainEqual(['/account', ['GET', 'HEAD']])
    expect(found).toContainEqual(['/transactions', ['GET', 'HEAD', 'POST']])
    expect(found).toContainEqual(['/transactions/[id]', ['GET', 'HEAD']])
    expect(found).toContainEqual(['/sandbox/transactions/[id]', ['POST']])
    expect(JSON.stringify(found)).not.toContain('nextauth')
  })
})

test('every list that shows no secret may be compressed', async () => {
  const plain: string[] = []
  for (const { segments, handlers } of await loadRoutes()) {
    const { declared, accountlessDeclaration } = handlers.get('GET') ?? {}
    const declaration = declared ?? accountlessDeclaration
    if (!declaration || declaration.isCompressible || declaration.proof === 'required') continue
    const schema = z.toJSONSchema(declaration.response, { unrepresentable: 'any', io: 'output' })
    const { type } = (schema.properties?.data ?? {}) as { type?: string }
    if (type === 'array') plain.push(segments.join('/'))
  }
  expect(plain).toEqual([])
})

test('no response that may be compressed has a field for a secret', async () => {
  const names: string[] = []
  for (const { segments, handlers } of await loadRoutes()) {
    for (const [method, { declared, accountlessDeclaration }] of handlers) {
      const declaration = declared ?? accountlessDeclaration
      if (!declaration.isCompressible) continue
      expect(['GET', 'HEAD'], segments.join('/')).toContain(method)
      const schema = JSON.stringify(
        z.toJSONSchema(declaration.response, { unrepresentable: 'any', io: 'output' }),
      )
      for (const [, name = ''] of schema.matchAll(
        /"(\w*(?:secret|token(?!_id|_name)|password|recovery|csrf|private|link)\w*)":/g,
      ))
        names.push(`${segments.join('/')} ${name}`)
    }
  }
  expect(names).toEqual([])
})
