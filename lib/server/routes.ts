import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Endpoint } from '#lib/http/endpoint.ts'

type Params = Record<string, string>
interface Route {
  segments: string[]
  handlers: Map<string, Endpoint>
}

export interface Match {
  handlers: Map<string, Endpoint>
  params: Params
}

/** In the order in which an `Allow` names them. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
/** next-auth's own route needs Next around it. */
const NEXT_ONLY = '[...'

/** Every route module below app/api, found by walking the folder, as Next finds them. */
export async function loadRoutes(folder = 'app/api'): Promise<Route[]> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('route.ts') && !file.includes(NEXT_ONLY))
    .sort()
  return Promise.all(
    files.map(async file => {
      const module = await import(pathToFileURL(join(folder, file)).href)
      const handlers = new Map<string, Endpoint>()
      for (const method of METHODS) {
        const handler = module[method === 'HEAD' ? 'GET' : method]
        if (handler) handlers.set(method, handler)
      }
      return { segments: file.split(/[/\\]/).slice(0, -1), handlers }
    }),
  )
}

/** The route of a path below /api. A fixed segment goes before one that stands for anything. */
export function matchRoute(routes: Route[], path: string): Match | null {
  const parts = path.split('/').filter(part => part !== '')
  const fits = routes.filter(
    route =>
      route.segments.length === parts.length &&
      route.segments.every((segment, at) => isOpen(segment) || segment === parts[at]),
  )
  const [best] = fits.sort((a, b) => countOpen(a) - countOpen(b))
  if (!best) return null
  const params: Params = {}
  for (const [at, segment] of best.segments.entries()) {
    if (!isOpen(segment)) continue
    const value = decode(parts[at] ?? '')
    if (value === null) return null
    params[segment.slice(1, -1)] = value
  }
  return { handlers: best.handlers, params }
}

function isOpen(segment: string): boolean {
  return segment.startsWith('[')
}

function countOpen(route: Route): number {
  return route.segments.filter(isOpen).length
}

function decode(part: string): string | null {
  try {
    const text = decodeURIComponent(part)
    return text.includes('\0') || !text.isWellFormed() ? null : text
  } catch {
    return null
  }
}
