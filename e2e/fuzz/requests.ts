import type { Draft, Sending } from '#e2e/fuzz/framing.ts'
import { frame, LARGE, misframe } from '#e2e/fuzz/framing.ts'
import { disturbBytes, disturbFields, writeFields } from '#e2e/fuzz/hostile-body.ts'
import { disturbHeaders } from '#e2e/fuzz/hostile-headers.ts'
import { PATH_PARTS, QUERY_NAMES, QUERY_VALUES } from '#e2e/fuzz/hostile-target.ts'
import { say, words } from '#e2e/fuzz/hostile-values.ts'
import { Random } from '#e2e/fuzz/random.ts'
import { makeValid, type Valid } from '#e2e/fuzz/valid.ts'
import type { HeaderLines, World } from '#e2e/fuzz/world.ts'
import type { loadRoutes } from '#lib/edge/server/routes.ts'
import { PAGE_OPERATIONS } from '#lib/testing/route-table.ts'

export type Routes = Awaited<ReturnType<typeof loadRoutes>>

export interface FuzzRequest extends Draft, Sending {
  seed: number
  number: number
  /** The route of an undisturbed request, such as `POST /transactions`; else null. */
  intact: string | null
  byFetch: boolean
}

type Part = 'fields' | 'text' | 'path' | 'query' | 'method' | 'headers' | 'framing'

/** Parts to disturb; a part listed twice is chosen twice as often. */
const PARTS = words(
  'fields fields fields fields fields text path query query method headers framing',
) as Part[]
const VALID_SHARE = 0.1
const KEY_SHARE = 0.1
const METHODS = [
  ...words('GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT PROPFIND QUERY M-SEARCH PURGE'),
  ...words('LINK PRI FOO get Post'),
  'GE T',
  'X'.repeat(100),
  '',
]

/** Generates a request from seed, number and the ids of the world only. */
export function makeRequest(
  world: World,
  routes: Routes,
  seed: number,
  number: number,
): FuzzRequest {
  const random = new Random(seed, number)
  // Each route comes once undisturbed first, so that every route is reached.
  const first = pairsOf(routes)[number]
  const [route, method] = first ?? pickRoute(routes, random)
  const path = `/${route.segments.join('/')}`
  const about = { random, world, seed, number }
  const handler = route.handlers.get(method)
  if (!handler) throw new Error(`${method} ${path} has no handler`)
  const valid = makeValid(`${method === 'HEAD' ? 'GET' : method} ${path}`, about, handler)
  const isRight = first !== undefined || random.chance(VALID_SHARE)
  const disturbed = isRight
    ? []
    : Array.from({ length: random.pick([1, 1, 2, 2, 3]) }, () => random.pick(PARTS))
  const target = makeTarget(route.segments, valid, disturbed, random)
  const right = rightCaller(world, path)
  const caller = first || random.chance(0.85) ? right : pickCaller(world, random)
  let headers = makeHeaders(caller, valid, random, `fuzz-${seed}-${number}`)
  if (disturbed.includes('headers')) headers = disturbHeaders(headers, random)
  const body = makeBody(valid, disturbed, random)
  const draft = {
    method: disturbed.includes('method') ? random.pick(METHODS) : method,
    target: Buffer.from(target).toString('latin1'),
    headers,
    body,
  }
  const isOdd = disturbed.includes('framing')
  const sending = isOdd ? misframe(draft, random) : frame(draft, random)
  const byFetch = !disturbed.includes('headers') && !isOdd && isFetchable(draft)
  const intact = disturbed.length === 0 ? `${method} ${path}` : null
  return { seed, number, intact, ...draft, ...sending, byFetch: byFetch && random.chance(0.15) }
}

/** Omits endless responses, which would block a connection. */
function pairsOf(routes: Routes): [route: Routes[number], method: string][] {
  return routes
    .filter(({ segments }) => !ENDLESS.has(`/${segments.join('/')}`))
    .flatMap(route =>
      [...route.handlers.keys()].map((method): [typeof route, string] => [route, method]),
    )
}

const ENDLESS = new Set(PAGE_OPERATIONS.filter(one => one.isEndless).map(({ path }) => path))

/** Methods with a body are more frequent: they take the most input. */
function pickRoute(routes: Routes, random: Random): [route: Routes[number], method: string] {
  const weights: Record<string, number> = { GET: 3, HEAD: 1 }
  const all = pairsOf(routes).flatMap(pair =>
    Array.from({ length: weights[pair[1]] ?? 8 }, () => pair),
  )
  return random.pick(all)
}

function makeTarget(segments: string[], valid: Valid, disturbed: Part[], random: Random): string {
  const params = [...(valid.params ?? [])]
  const parts = segments.map(part => (part.startsWith('[') ? (params.shift() ?? part) : part))
  if (disturbed.includes('path')) {
    const open = segments.findIndex(part => part.startsWith('['))
    const at = open >= 0 && random.chance(0.7) ? open : random.between(0, parts.length)
    parts.splice(at, random.chance(0.8) ? 1 : 0, say(random.pick(PATH_PARTS), random))
  }
  const query = (valid.query ?? []).map(pair => pair.join('='))
  const known = (valid.query ?? []).map(([name]) => name)
  const names = [...QUERY_NAMES, ...known, ...known, ...known]
  if (disturbed.includes('query')) {
    for (let count = random.between(1, 3); count > 0; count--) {
      const pair = [random.pick(names), say(random.pick(QUERY_VALUES), random)]
      query.push(pair.join(random.pick(['=', '=', '=', '', '=='])))
    }
  }
  const slash = random.chance(0.03) ? '/' : ''
  const path = `${random.chance(0.01) ? '/API' : '/api'}/${parts.join('/')}${slash}`
  return query.length > 0 ? `${path}?${query.join('&')}` : path
}

function rightCaller({ merchant, member, person, admin }: World, path: string): HeaderLines {
  const [door] = path.split('/').filter(Boolean)
  return { dashboard: member, person, visitor: person, admin }[door ?? ''] ?? merchant
}

function pickCaller({ merchant, member, others }: World, random: Random): HeaderLines {
  return random.pick([merchant, member, member, ...others])
}

function makeHeaders(caller: HeaderLines, valid: Valid, random: Random, id: string): HeaderLines {
  const type: HeaderLines = valid.fields ? [['Content-Type', 'application/json']] : []
  // Few keys, so that they repeat: with the same body, with another, and concurrently.
  const key: HeaderLines = random.chance(KEY_SHARE)
    ? [['Idempotency-Key', random.chance(0.5) ? id : `${random.between(0, 20)}`]]
    : []
  return [['X-Request-Id', id], ...caller, ...type, ...key]
}

function makeBody(valid: Valid, disturbed: Part[], random: Random): Buffer | null {
  let fields = valid.fields
  if (!fields && (disturbed.includes('text') || disturbed.includes('fields'))) fields = []
  if (!fields) return null
  for (const part of disturbed) if (part === 'fields') fields = disturbFields(fields, random)
  const body = writeFields(fields, random)
  return disturbed.includes('text') ? disturbBytes(body, random) : body
}

function isFetchable({ method, target, body }: Draft): boolean {
  if (!['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].includes(method)) return false
  if (body !== null && (method === 'GET' || method === 'HEAD' || body.length > LARGE)) return false
  const url = URL.parse(`http://a${target}`)
  return url !== null && url.pathname + url.search === target
}
