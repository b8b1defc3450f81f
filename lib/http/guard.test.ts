import { parseAndValidateFlightRouterState } from 'next/dist/server/app-render/parse-and-validate-flight-router-state.js'
import { expect, test } from 'vitest'
import { hasValidRouterState } from '#lib/http/guard.ts'
import fc from '#lib/testing/property.ts'

/** Returns whether the installed Next accepts the router state of a request. */
function isValidForNext(text: string): boolean {
  try {
    parseAndValidateFlightRouterState(text)
    return true
  } catch {
    return false
  }
}

const VALID = [
  ['', {}],
  ['', { children: ['__PAGE__', {}] }, null, null, 0],
  ['', { children: ['login', { children: ['__PAGE__', {}, ['/login', ''], 'refetch'] }] }],
  ['', { children: [['mode', 'test', 'd', null], {}, null, 'inside-shared-layout', 16, 'x'] }],
  ['', { children: [['id', 'a/b', 'oc', ['new']], {}, null, 'metadata-only'] }],
  ['', { slot: [['id', 'a', 'ci(..)(..)', []], {}], children: ['(group)', {}] }],
]
const INVALID = [
  '',
  '%',
  '%ff',
  'x',
  '{}',
  '[]',
  'null',
  '[""]',
  '[1,{}]',
  '["",1]',
  '["",null]',
  ...['["",{"a":[]}]', '["",{"a":"x"}]', '["",{},"/"]', '["",{},["/"]]', '["",{},null,"all"]'],
  '["",{},null,null,"1"]',
  '["",{},null,null,1,1]',
  '["",{},null,null,1,"",1]',
  ...['["",{"a":[["a","b","zz",null],{}]}]', '["",{"a":[["a","b","d"],{}]}]', '["",{}], ["",{}]'],
  ...['["",{"a":[["a","b","d",[1]],{}]}]', '['.repeat(5_000)],
]

test('the router state of a page is accepted, encoded or not', () => {
  for (const state of VALID) {
    for (const text of [JSON.stringify(state), encodeURIComponent(JSON.stringify(state))]) {
      expect(isValidForNext(text), text).toBe(true)
      expect(hasValidRouterState({ 'next-router-state-tree': text }), text).toBe(true)
    }
  }
  expect(hasValidRouterState({})).toBe(true)
})

test('what Next fails on is refused', () => {
  for (const text of INVALID) {
    expect(isValidForNext(text), text).toBe(false)
    expect(hasValidRouterState({ 'next-router-state-tree': text }), text).toBe(false)
  }
})

test('a router state deeper than that of any page is refused: Next would take 100 ms', () => {
  const isAccepted = (depth: number) => {
    const text = `${'["",{"a":'.repeat(depth - 1)}["",{}]${'}]'.repeat(depth - 1)}`
    return hasValidRouterState({ 'next-router-state-tree': text })
  }
  for (const depth of [1, 8, 16]) expect(isAccepted(depth), `${depth}`).toBe(true)
  for (const depth of [17, 500, 1_500]) expect(isAccepted(depth), `${depth}`).toBe(false)
})

const segment = fc.oneof(
  fc.string(),
  fc.tuple(
    fc.string(),
    fc.string(),
    fc.constantFrom('c', 'oc', 'd', 'di(.)', 'ci(...)'),
    fc.option(fc.array(fc.string())),
  ),
)

/** Generates states in the form that Next's router sends. */
function validState(depth: number): fc.Arbitrary<unknown> {
  return fc.tuple(
    segment,
    depth === 0
      ? fc.constant({})
      : fc.dictionary(fc.string(), validState(depth - 1), { maxKeys: 3 }),
    fc.option(fc.tuple(fc.string(), fc.string())),
    fc.option(fc.constantFrom('refetch', 'inside-shared-layout', 'metadata-only')),
    fc.option(fc.nat()),
  )
}

test('any state of the form that the router sends is accepted, here and by Next', () => {
  fc.assert(
    fc.property(validState(3), state => {
      const text = encodeURIComponent(JSON.stringify(state))
      expect([
        hasValidRouterState({ 'next-router-state-tree': text }),
        isValidForNext(text),
      ]).toEqual([true, true])
    }),
  )
})

test('no other state that is accepted here makes Next fail', () => {
  const part = fc.oneof(
    fc.constantFrom('', 'd', null, 0, {}, ['a', 'b'], ['', {}], ['a', 'b', 'd', null], 'refetch'),
    fc.constantFrom(...VALID),
    fc.jsonValue(),
  )
  const nested = fc.tuple(part, fc.oneof(part, fc.record({ children: part })), part, part, part)
  fc.assert(
    fc.property(fc.oneof(fc.array(part, { maxLength: 7 }), nested), state => {
      const text = JSON.stringify(state)
      if (hasValidRouterState({ 'next-router-state-tree': text }))
        expect(isValidForNext(text), text).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})
