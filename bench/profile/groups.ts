import type { Profiler } from 'node:inspector'

export type CallFrame = Profiler.ProfileNode['callFrame']

/** The first pattern that matches a script's URL determines its group. */
const GROUPS: [RegExp, string][] = [
  [/node:internal\/crypto|node:crypto/, 'crypto'],
  [/node:internal\/deps\/undici/, "node: fetch's Request, Response, Headers"],
  [
    /node:(internal\/)?(_?http|net|stream|streams|js_stream|stream_base)/,
    'node: http, net, streams',
  ],
  [/node:(internal\/)?(webstreams|encoding|url|abort|event_target|fetch|blob)/, 'node: web API'],
  [/^node:/, 'node: the rest'],
  [/node_modules\/@hono\//, 'hono adapter'],
  [/node_modules\/zod\//, 'zod'],
  [/node_modules\/@?prisma|\/db\/generated\/|^wasm:|node_modules\/@prisma/, 'Prisma'],
  [/node_modules\/(pg|pg-[\w-]+|postgres-[\w-]+|pgpass)\//, 'pg driver'],
  [/node_modules\/uuid\//, 'uuid'],
  [/node_modules\/(pino|pino-[\w-]+|sonic-boom|thread-stream)\//, 'log'],
  [/node_modules\/rate-limiter-flexible\//, 'rate limits'],
  [/node_modules\/next\//, 'Next'],
  [/node_modules\/(fastify|@fastify|find-my-way|fast-json-[\w-]+|ajv)\//, 'Fastify'],
  [/node_modules\//, 'other packages'],
  [/^file:/, "Troco's code"],
]

const OUTSIDE_JAVASCRIPT = 'outside JavaScript: system calls, libuv'
const ENGINE_GROUPS = new Map([
  ['(garbage collector)', 'garbage collection'],
  ['(program)', OUTSIDE_JAVASCRIPT],
  ['(root)', OUTSIDE_JAVASCRIPT],
])

export function isIdle({ functionName }: CallFrame): boolean {
  return functionName === '(idle)'
}

/** Returns null for built-ins of the engine: their time counts for the caller. */
export function groupOf({ url, functionName }: CallFrame): string | null {
  const engine = ENGINE_GROUPS.get(functionName)
  if (engine) return engine
  if (url === '') return null
  return GROUPS.find(([pattern]) => pattern.test(url))?.[1] ?? 'other packages'
}

export function formatLocation({ url, functionName, lineNumber }: CallFrame): string {
  const name = functionName || '(anonymous)'
  if (url === '') return name
  const file = url
    .replace(/^.*node_modules\//, '')
    .replace(/^file:\/\/.*?\/(?=(lib|app|bin)\/)/, '')
  return `${name}  ${file}:${lineNumber + 1}`
}
