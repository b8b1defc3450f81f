import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { type Document, type Json, strictly } from '#lib/testing/strict.ts'

interface Declared {
  headers: { 'X-Error-Code'?: { schema: { enum: unknown[] } } }
  content: {
    'application/json': { schema: Json; examples?: Record<string, { value: { error?: string } }> }
  }
}

interface Answer {
  method: string
  path: string
  status: number
  headers: Record<string, unknown>
  body: string
}

/** Statuses sent before the operation is known; the document's introduction describes them. */
const GENERAL = [400, 404]
const WITHOUT_OPERATION = [401, 403, 405, 429, 503]
const NEEDED: Record<number, string[]> = {
  401: ['www-authenticate'],
  405: ['allow'],
  429: ['retry-after'],
  503: ['retry-after'],
}
const LISTED_MAX = 20

/** Compares all responses with the document; returns a function that lists the problems. */
export function holdToDocument(server: Server, document: Document): () => string[] {
  const judge = makeJudge(document)
  const problems = new Set<string>()
  server.prependListener('request', (request, response) => {
    listen(request, response, answer => {
      for (const problem of judge(answer)) if (problems.size < LISTED_MAX) problems.add(problem)
    })
  })
  return () => [...problems]
}

function listen(
  { method = '', url = '' }: IncomingMessage,
  response: ServerResponse,
  tell: (answer: Answer) => void,
): void {
  const chunks: Buffer[] = []
  const { write, end, writeHead } = response
  const written: Record<string, unknown> = {}
  const note = (chunk: unknown) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk))
  }
  response.write = (...args: unknown[]) => {
    note(args[0])
    return write.apply(response, args as Parameters<typeof write>)
  }
  response.end = (...args: unknown[]) => {
    note(args[0])
    return end.apply(response, args as Parameters<typeof end>)
  }
  // Headers passed to writeHead are not in response.getHeaders().
  response.writeHead = (...args: unknown[]) => {
    Object.assign(written, typeof args.at(-1) === 'object' ? args.at(-1) : {})
    return writeHead.apply(response, args as unknown as Parameters<typeof writeHead>)
  }
  response.on('finish', () => {
    const [path = ''] = url.split('?')
    const body = Buffer.concat(chunks).toString()
    const headers = { ...response.getHeaders(), ...written }
    tell({ method, path, status: response.statusCode, headers, body })
  })
}

function makeJudge(document: Document): (answer: Answer) => string[] {
  const validatorOf = strictly(document)
  return answer => {
    const { method, status, body } = answer
    if (!isDescribed(answer.path) || body === MALFORMED) return []
    const path = findPath(document, answer.path)
    const operations = document.paths[path ?? '']
    const operation = operations?.[method === 'HEAD' ? 'get' : method.toLowerCase()]
    const place = `${method} ${path ?? answer.path} ${status}`
    const declared = operation && declaredAnswer(document, operation.responses[status])
    const general = operation ? [] : operations ? WITHOUT_OPERATION : GENERAL
    if (!declared && !general.includes(status)) return [`${place} is not declared: ${body}`]
    const check = validatorOf(declared?.content['application/json'].schema ?? ERROR)
    const problems = [...judgeHeaders(answer, declared), ...judgeBody(answer, check, declared)]
    return problems.map(problem => `${place}: ${problem}`)
  }
}

function declaredAnswer(document: Document, answer: Json | undefined): Declared | undefined {
  const name = String(answer?.$ref).replace('#/components/responses/', '')
  return (document.components.responses[name] ?? answer) as Declared | undefined
}

/** Malformed HTTP is refused before its path is read. */
const MALFORMED = '{"error":"Malformed request"}'
const ERROR = { $ref: '#/components/schemas/Error' }

/** The document leaves out next-auth, routes for Troco's own pages, and itself. */
function isDescribed(path: string): boolean {
  return (
    path.startsWith('/api/') &&
    !/^\/api\/+(auth|dashboard|visitor|person|admin|openapi\.json)(\/|$)/.test(path)
  )
}

/** Returns the path in the document; a fixed segment takes precedence over a parameter. */
function findPath(document: Document, path: string): string | undefined {
  const parts = path.slice('/api'.length).split('/').filter(Boolean)
  if (!parts.every(isText)) return undefined
  const fits = Object.keys(document.paths).filter(known => {
    const wanted = known.slice(1).split('/')
    const isOpen = (part: string) => part.startsWith('{')
    return (
      wanted.length === parts.length &&
      wanted.every((part, at) => isOpen(part) || part === parts[at])
    )
  })
  return fits.sort((one, other) => one.split('{').length - other.split('{').length)[0]
}

function isText(part: string): boolean {
  try {
    const text = decodeURIComponent(part)
    return text.isWellFormed() && !text.includes('\0')
  } catch {
    return false
  }
}

function judgeHeaders({ status, headers }: Answer, declared: Declared | undefined): string[] {
  const wanted = ['x-request-id', ...(NEEDED[status] ?? [])]
  if (declared && status >= 400) wanted.push('x-error-code')
  const missing = wanted.filter(name => !headers[name]).map(name => `${name} is missing`)
  const code = headers['x-error-code']
  const codes = declared?.headers['X-Error-Code']?.schema.enum ?? [code]
  return codes.includes(code) ? missing : [...missing, `the code ${code} is not declared`]
}

function judgeBody(
  { method, headers, body }: Answer,
  check: ValidateFunction,
  declared: Declared | undefined,
): string[] {
  const type = headers['content-type']
  const problems = type === 'application/json; charset=utf-8' ? [] : [`the type is ${type}`]
  if (method === 'HEAD') return problems
  const said = parse(body)
  if (said === undefined) return [...problems, `this is not JSON: ${body.slice(0, 200)}`]
  check(said)
  const wrong = (check.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  )
  return [...problems, ...wrong, ...judgeMessage(said, declared)]
}

/** Checks that the message is one of the examples, except for numbers and names in it. */
function judgeMessage(said: unknown, declared: Declared | undefined): string[] {
  const { error } = said as { error?: string }
  const examples = Object.values(declared?.content['application/json'].examples ?? {})
  if (error === undefined || examples.length === 0) return []
  const known = examples.map(({ value }) => form(value.error ?? ''))
  return known.includes(form(error)) ? [] : [`no example says ${error}`]
}

function form(message: string): string {
  return message
    .replaceAll(/\d+/g, '#')
    .replace(/already \w+$/, 'already …')
    .replace(/^Permission denied: .*/, 'Permission denied: …')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
