import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Invariant } from '#lib/core/invariant.ts'
import type { AccountlessEndpoint, Endpoint } from '#lib/http/endpoint.ts'
import type { RouteHandler } from '#lib/http/route-handler.ts'

type Params = Record<string, string>
interface Route<Handler> {
  segments: string[]
  handlers: Map<string, Handler>
}

export interface Match<
  Handler = RouteHandler & {
    declared?: Endpoint['declared']
    accountlessDeclaration?: AccountlessEndpoint['accountlessDeclaration']
  },
> {
  handlers: Map<string, Handler>
  /** Template of the path, such as `/transactions/{id}`. */
  route: string
  params: Params
}

/** Order of the methods in an `Allow` header. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** First segment of the paths of API Pix, which another document describes. */
const API_PIX_SEGMENT = 'pix'

/** Returns whether the path under /api is one of API Pix. */
export function isApiPixPath(path: string): boolean {
  return path.split('/', 2)[1] === API_PIX_SEGMENT
}

type MethodOf<Key> = Key extends `${infer Method} ${string}` ? Method : never

/** What a route file exports for each of its methods. */
interface TableHandler<Table> {
  (request: Request): Promise<Response>
  table: Table
}

/**
 * Declares the endpoints of a route file by method and path, such as `GET /transactions/[id]`. The front
 * reads the table; in development, Next calls the handlers, which find the endpoint by the path.
 */
export function endpoints<Table extends Record<string, RouteHandler>>(
  table: Table,
): Record<MethodOf<keyof Table>, TableHandler<Table>> {
  const routes = listRoutes(table)
  const serve = async (request: Request) => {
    const match = matchRoute(routes, new URL(request.url).pathname.replace(/^\/api(?=\/)/, ''))
    const handler = match?.handlers.get(request.method)
    return handler && match
      ? handler(request, { params: Promise.resolve(match.params) })
      : new Response(null, { status: 404 })
  }
  const handler = Object.assign(serve, { table })
  const exported = Object.keys(table).map(key => [key.split(' ')[0], handler])
  return Object.fromEntries(exported)
}

/** Returns the endpoints of a table by path. A path with GET has HEAD, too. */
function listRoutes<Handler>(table: Record<string, Handler>): Route<Handler>[] {
  const paths = new Set(Object.keys(table).map(key => key.slice(key.indexOf('/'))))
  return [...paths].map(path => {
    const handlers = new Map<string, Handler>()
    for (const method of METHODS) {
      const handler = table[`${method === 'HEAD' ? 'GET' : method} ${path}`]
      if (handler) handlers.set(method, handler)
    }
    return { segments: path.split('/').slice(1), handlers }
  })
}

/** Loads the routes of Troco's own API, without those of API Pix. */
export async function loadRoutes(): Promise<Route<Endpoint | AccountlessEndpoint>[]> {
  const routes = await loadApiRoutes()
  return routes.filter(({ segments }) => segments[0] !== API_PIX_SEGMENT)
}

/** With `isFresh`, reads files again that have changed since they were loaded. */
export async function loadApiRoutes(
  isFresh = false,
): Promise<Route<Endpoint | AccountlessEndpoint>[]> {
  const routes = await loadFrom<Endpoint | AccountlessEndpoint>('app/api', isFresh)
  for (const { segments, handlers } of routes) {
    for (const [method, { accountlessDeclaration: access, declared }] of handlers) {
      requireDeclaredMethod(`/${segments.join('/')}`, method, (access ?? declared).method)
    }
  }
  return routes
}

/** Throws if a write is declared as a read, which may omit its rule about the proof of identity. */
export function requireDeclaredMethod(path: string, method: string, declared = method): void {
  if (declared === method || (declared === 'GET' && method === 'HEAD')) return
  throw new Invariant(`the key of ${path} says ${method}, but its endpoint ${declared}`)
}

/** Folders of app with pages for anyone with their URL, which the front serves. */
export const PUBLIC_FOLDERS = ['pay', 'receipt']

/** Loads the routes of public pages. Their first segment is the folder. */
export async function loadPublicRoutes(): Promise<Route<RouteHandler>[]> {
  const loaded = PUBLIC_FOLDERS.map(folder => loadFrom<RouteHandler>(`app/${folder}`))
  return (await Promise.all(loaded)).flat()
}

/** Loads the tables of the route files below a folder. */
async function loadFrom<Handler>(folder: string, isFresh = false): Promise<Route<Handler>[]> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('route.ts'))
    .sort()
  const loaded = files.map(async file => {
    const path = join(folder, file)
    const version = isFresh ? `?${statSync(path).mtimeMs}` : ''
    const exported = await import(pathToFileURL(path).href + version)
    const [{ table }] = Object.values(exported) as [TableHandler<Record<string, Handler>>]
    const missing = Object.keys(table).find(key => !exported[key.split(' ')[0] ?? ''])
    if (missing) throw new Invariant(`${path} has ${missing}, but does not export the method`)
    return listRoutes(table)
  })
  return (await Promise.all(loaded)).flat()
}

/** Finds the route of a path. A fixed segment takes precedence over a parameter. */
export function matchRoute<Handler>(routes: Route<Handler>[], path: string): Match<Handler> | null {
  const parts = path.split('/').filter(part => part !== '')
  let best: Route<Handler> | null = null
  for (const route of ofLength(routes, parts.length))
    if (matches(route.segments, parts) && !(best && isAtLeastAsFixed(best, route))) best = route
  if (!best) return null
  const params: Params = {}
  for (const [index, segment] of best.segments.entries()) {
    if (!isParameter(segment)) continue
    const value = decodePath(parts[index] ?? '')
    if (value === null) return null
    params[segment.slice(1, -1)] = value
  }
  return { handlers: best.handlers, route: templateOf(best), params }
}

const byLength = new WeakMap<Route<unknown>[], Map<number, Route<unknown>[]>>()

/** Returns the routes with this number of segments. Every request passes here. */
function ofLength<Handler>(routes: Route<Handler>[], length: number): Route<Handler>[] {
  const known = byLength.get(routes) ?? Map.groupBy(routes, ({ segments }) => segments.length)
  byLength.set(routes, known)
  return (known.get(length) ?? []) as Route<Handler>[]
}

/** Nothing is built for a route that does not match. */
function matches(segments: string[], parts: string[]): boolean {
  for (let index = segments.length - 1; index >= 0; index--) {
    const segment = segments[index] as string
    if (segment !== parts[index] && !isParameter(segment)) return false
  }
  return true
}

function isParameter(segment: string): boolean {
  return segment.startsWith('[')
}

function isAtLeastAsFixed(route: Route<unknown>, other: Route<unknown>): boolean {
  const countParameters = ({ segments }: Route<unknown>) => segments.filter(isParameter).length
  return countParameters(route) <= countParameters(other)
}

const templates = new WeakMap<string[], string>()

function templateOf({ segments }: Route<unknown>): string {
  const known = templates.get(segments)
  if (known !== undefined) return known
  const template = `/${segments.join('/').replaceAll('[', '{').replaceAll(']', '}')}`
  templates.set(segments, template)
  return template
}

/** Decodes a path or a part of one; null if malformed, also if it contains NUL. */
export function decodePath(part: string): string | null {
  try {
    const text = decodeURIComponent(part)
    return text.includes('\0') || !text.isWellFormed() ? null : text
  } catch {
    return null
  }
}
