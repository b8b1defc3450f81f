import type { RequestDraft, WireRequest } from '#e2e/fuzz/framing.ts'
import { frameCorrectly, frameWrongly, LARGE_BODY_BYTES } from '#e2e/fuzz/framing.ts'
import { mutateBytes, mutateFields, serializeFields } from '#e2e/fuzz/hostile-body.ts'
import { mutateHeaders } from '#e2e/fuzz/hostile-headers.ts'
import { PATH_PARTS, QUERY_FLOODS, QUERY_NAMES, QUERY_VALUES } from '#e2e/fuzz/hostile-target.ts'
import { generateText, splitWords } from '#e2e/fuzz/hostile-values.ts'
import { makeValidRequest, type ValidRequest } from '#e2e/fuzz/valid-request.ts'
import type { HeaderLines, World } from '#e2e/fuzz/world.ts'
import type { loadRoutes } from '#lib/http/routes.ts'
import { Random } from '#lib/testing/random.ts'
import { PAGE_OPERATIONS } from '#lib/testing/route-table.ts'

export type Routes = Awaited<ReturnType<typeof loadRoutes>>

export interface FuzzRequest extends RequestDraft, WireRequest {
  seed: number
  number: number
  /** The route, such as `POST /transactions`, of a request without mutations; else null. */
  validRoute: string | null
  usesFetch: boolean
}

type Mutation = 'fields' | 'text' | 'path' | 'query' | 'method' | 'headers' | 'framing'

/** Parts of a request to mutate; a part listed twice is chosen twice as often. */
const MUTATIONS = splitWords(
  'fields fields fields fields fields text path query query method headers framing',
) as Mutation[]
const VALID_SHARE = 0.1
const KEY_SHARE = 0.1
const METHODS = [
  ...splitWords(
    'GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT PROPFIND QUERY M-SEARCH PURGE',
  ),
  ...splitWords('LINK PRI FOO get Post'),
  'GE T',
  'X'.repeat(100),
  '',
]

/** Generates a request from the seed, the number and the ids of the world only. */
export function makeRequest(
  world: World,
  routes: Routes,
  seed: number,
  requestNumber: number,
): FuzzRequest {
  const random = new Random(seed, requestNumber)
  // The first requests call each route without mutations, so that every route is reached.
  const initialRoute = listInitialCalls(routes)[requestNumber]
  const [route, method] = initialRoute ?? pickRoute(routes, random)
  const path = `/${route.segments.join('/')}`
  const context = { random, world, seed, number: requestNumber }
  const handler = route.handlers.get(method)
  if (!handler) throw new Error(`${method} ${path} has no handler`)
  const valid = makeValidRequest(`${method === 'HEAD' ? 'GET' : method} ${path}`, context, handler)
  const isValid = initialRoute !== undefined || random.chance(VALID_SHARE)
  const mutations = isValid
    ? []
    : Array.from({ length: random.pick([1, 1, 2, 2, 3]) }, () => random.pick(MUTATIONS))
  const target = makeTarget(route.segments, valid, mutations, random)
  const authorizedCaller = findAuthorizedCaller(world, path)
  const caller = initialRoute || random.chance(0.85) ? authorizedCaller : pickCaller(world, random)
  let headers = makeHeaders(caller, valid, random, `fuzz-${seed}-${requestNumber}`)
  if (mutations.includes('headers')) headers = mutateHeaders(headers, random)
  const body = makeBody(valid, mutations, random)
  const draft = {
    method: mutations.includes('method') ? random.pick(METHODS) : method,
    target: Buffer.from(target).toString('latin1'),
    headers,
    body,
  }
  const isMisframed = mutations.includes('framing')
  const wireRequest = isMisframed ? frameWrongly(draft, random) : frameCorrectly(draft, random)
  const canUseFetch = !mutations.includes('headers') && !isMisframed && isFetchable(draft)
  const validRoute = mutations.length === 0 ? `${method} ${path}` : null
  return {
    seed,
    number: requestNumber,
    validRoute,
    ...draft,
    ...wireRequest,
    usesFetch: canUseFetch && random.chance(0.15),
  }
}

type RouteMethod = [route: Routes[number], method: string]

/**
 * Reads twice, because a valid query may match nothing. DELETE comes last, so that the other methods
 * still find their resources.
 */
function listInitialCalls(routes: Routes): RouteMethod[] {
  const all = listRouteMethods(routes)
  const isDelete = ([, method]: RouteMethod) => method === 'DELETE'
  const isRead = ([, method]: RouteMethod) => ['GET', 'HEAD'].includes(method)
  return [...all.filter(entry => !isDelete(entry)), ...all.filter(isRead), ...all.filter(isDelete)]
}

/** Omits endless responses, because they would block a connection. */
function listRouteMethods(routes: Routes): RouteMethod[] {
  return routes
    .filter(({ segments }) => !STREAMING_PATHS.has(`/${segments.join('/')}`))
    .flatMap(route => [...route.handlers.keys()].map((method): RouteMethod => [route, method]))
}

const STREAMING_PATHS = new Set(
  PAGE_OPERATIONS.filter(operation => operation.isEndless).map(({ path }) => path),
)

/** Picks methods with a body more often, because they accept the most input. */
function pickRoute(routes: Routes, random: Random): RouteMethod {
  const weights: Record<string, number> = { GET: 3, HEAD: 1 }
  const weightedRoutes = listRouteMethods(routes).flatMap(pair =>
    Array.from({ length: weights[pair[1]] ?? 8 }, () => pair),
  )
  return random.pick(weightedRoutes)
}

function makeTarget(
  segments: string[],
  valid: ValidRequest,
  mutations: Mutation[],
  random: Random,
): string {
  const params = [...(valid.params ?? [])]
  const parts = segments.map(part => (part.startsWith('[') ? (params.shift() ?? part) : part))
  if (mutations.includes('path')) {
    const parameterIndex = segments.findIndex(part => part.startsWith('['))
    const index =
      parameterIndex >= 0 && random.chance(0.7) ? parameterIndex : random.between(0, parts.length)
    parts.splice(index, random.chance(0.8) ? 1 : 0, generateText(random.pick(PATH_PARTS), random))
  }
  const query = (valid.query ?? []).map(pair => pair.join('='))
  const validNames = (valid.query ?? []).map(([name]) => name)
  const names = [...QUERY_NAMES, ...validNames, ...validNames, ...validNames]
  if (mutations.includes('query')) {
    for (let count = random.between(1, 3); count > 0; count--) {
      const pair = [random.pick(names), generateText(random.pick(QUERY_VALUES), random)]
      query.push(pair.join(random.pick(['=', '=', '=', '', '=='])))
    }
  }
  if (mutations.includes('query') && random.chance(0.1))
    query.push(generateText(random.pick(QUERY_FLOODS), random))
  const slash = random.chance(0.03) ? '/' : ''
  const path = `${random.chance(0.01) ? '/API' : '/api'}/${parts.join('/')}${slash}`
  return query.length > 0 ? `${path}?${query.join('&')}` : path
}

function findAuthorizedCaller(
  { merchant, member, person, admin, apiPix }: World,
  path: string,
): HeaderLines {
  const [area, part] = path.split('/').filter(Boolean)
  if (area === 'pix') return part === 'oauth' ? apiPix.credentials : apiPix.caller
  return { dashboard: member, person, visitor: person, admin }[area ?? ''] ?? merchant
}

function pickCaller({ merchant, member, others }: World, random: Random): HeaderLines {
  return random.pick([merchant, member, member, ...others])
}

function makeHeaders(
  caller: HeaderLines,
  valid: ValidRequest,
  random: Random,
  id: string,
): HeaderLines {
  const type: HeaderLines = valid.fields ? [['Content-Type', 'application/json']] : []
  // Few keys, so that keys repeat: with the same body, with another body, and concurrently.
  const key: HeaderLines = random.chance(KEY_SHARE)
    ? [['Idempotency-Key', random.chance(0.5) ? id : `${random.between(0, 20)}`]]
    : []
  return [['X-Request-Id', id], ...caller, ...type, ...key]
}

function makeBody(valid: ValidRequest, mutations: Mutation[], random: Random): Buffer | null {
  let fields = valid.fields
  if (!fields && (mutations.includes('text') || mutations.includes('fields'))) fields = []
  if (!fields) return null
  for (const mutation of mutations) if (mutation === 'fields') fields = mutateFields(fields, random)
  const body = serializeFields(fields, random)
  return mutations.includes('text') ? mutateBytes(body, random) : body
}

function isFetchable({ method, target, body }: RequestDraft): boolean {
  if (!['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].includes(method)) return false
  if (body !== null && (method === 'GET' || method === 'HEAD' || body.length > LARGE_BODY_BYTES))
    return false
  const url = URL.parse(`http://a${target}`)
  return url !== null && url.pathname + url.search === target
}
