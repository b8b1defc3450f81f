import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { SESSION_CODES } from '#lib/http/openapi-responses.ts'
import { type Document, type Json, makeStrictValidator } from '#lib/testing/strict-validator.ts'

interface DeclaredResponse {
  headers: { 'X-Error-Code'?: { schema: { enum: unknown[] } } }
  content: {
    'application/json': { schema: Json; examples?: Record<string, { value: { error?: string } }> }
  }
}

interface SentResponse {
  method: string
  path: string
  status: number
  headers: Record<string, unknown>
  body: string
}

/** Statuses of responses to undeclared paths, whose codes the document lists for all requests. */
const STATUSES_WITHOUT_PATH = [400, 404]
/** Statuses of responses to undeclared methods of a declared path. */
const STATUSES_WITHOUT_OPERATION = [204, 401, 403, 405, 429, 503]
const REQUIRED_HEADERS: Record<number, string[]> = {
  401: ['www-authenticate'],
  405: ['allow'],
  429: ['retry-after'],
  503: ['retry-after'],
}
const PROBLEMS_MAX = 20

type Validator = (sent: SentResponse) => string[]
/** Validators by document: the schemas of each document are compiled once per process. */
const validators = new Map<string, Validator>()

/**
 * Compares all responses of a server with the document, given as its text. Returns a function that
 * lists the problems.
 */
export function validateResponses(server: Server, document: string): () => string[] {
  const findProblems = validators.get(document) ?? makeResponseValidator(JSON.parse(document))
  validators.set(document, findProblems)
  const problems = new Set<string>()
  server.prependListener('request', (request, response) => {
    captureResponse(request, response, sent => {
      for (const problem of findProblems(sent))
        if (problems.size < PROBLEMS_MAX) problems.add(problem)
    })
  })
  return () => [...problems]
}

function captureResponse(
  { method = '', url = '' }: IncomingMessage,
  response: ServerResponse,
  onSent: (sent: SentResponse) => void,
): void {
  const chunks: Buffer[] = []
  const { write, end, writeHead } = response
  const writtenHeaders: Record<string, unknown> = {}
  const collect = (chunk: unknown) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk))
  }
  response.write = (...args: unknown[]) => {
    collect(args[0])
    return write.apply(response, args as Parameters<typeof write>)
  }
  response.end = (...args: unknown[]) => {
    collect(args[0])
    return end.apply(response, args as Parameters<typeof end>)
  }
  // Headers passed to writeHead are not in response.getHeaders().
  response.writeHead = (...args: unknown[]) => {
    Object.assign(writtenHeaders, typeof args.at(-1) === 'object' ? args.at(-1) : {})
    return writeHead.apply(response, args as unknown as Parameters<typeof writeHead>)
  }
  response.on('finish', () => {
    const [path = ''] = url.split('?')
    const headers: Record<string, unknown> = { ...response.getHeaders(), ...writtenHeaders }
    const sent = Buffer.concat(chunks)
    const isCompressed = headers['content-encoding'] === 'gzip' && method !== 'HEAD'
    const body = String(isCompressed ? gunzipSync(sent) : sent)
    onSent({ method, path, status: response.statusCode, headers, body })
  })
}

function makeResponseValidator(document: Document): Validator {
  const validatorOf = makeStrictValidator(document)
  return sent => {
    const { method, status, body } = sent
    if (!isDescribed(sent.path) || body === MALFORMED || OVERSIZE.includes(status)) return []
    const path = findDeclaredPath(document, sent.path)
    const operations = document.paths[path ?? '']
    const operation = operations?.[method === 'HEAD' ? 'get' : method.toLowerCase()]
    const label = `${method} ${path ?? sent.path} ${status}`
    const isOfSession = SESSION_CODES.some(code => code === sent.headers['x-error-code'])
    const declared = operation && findDeclaredResponse(document, operation.responses[status])
    const undeclaredStatuses = operation
      ? []
      : operations
        ? STATUSES_WITHOUT_OPERATION
        : STATUSES_WITHOUT_PATH
    if (!declared && !isOfSession && !undeclaredStatuses.includes(status))
      return [`${label} is not declared: ${body}`]
    if (status === 204) return sent.headers.allow ? [] : [`${label}: it has no Allow`]
    if (declared && status === 304)
      return body === '' && sent.headers.etag ? [] : [`${label}: it has no ETag or a body`]
    const types = Object.keys(declared?.content ?? {})
    if (declared && !types.includes('application/json')) {
      return types.includes(String(sent.headers['content-type']))
        ? []
        : [`${label}: the type is ${sent.headers['content-type']}`]
    }
    const check = validatorOf(declared?.content['application/json'].schema ?? ERROR)
    // The document lists no code that only sessions get.
    const listed = isOfSession ? undefined : declared
    const problems = [...checkHeaders(sent, listed), ...checkBody(sent, check, listed)]
    return problems.map(problem => `${label}: ${problem}`)
  }
}

function findDeclaredResponse(
  document: Document,
  response: Json | undefined,
): DeclaredResponse | undefined {
  const name = String(response?.$ref).replace('#/components/responses/', '')
  return (document.components.responses[name] ?? response) as DeclaredResponse | undefined
}

/** Malformed HTTP is refused before its path is read. */
const MALFORMED = '{"error":"Malformed request"}'
/** The front refuses such requests, whatever their path. */
const OVERSIZE = [414, 431]
const ERROR = { $ref: '#/components/schemas/Error' }

/** The document leaves out next-auth, routes for Troco's own pages, and itself. */
function isDescribed(path: string): boolean {
  return (
    path.startsWith('/api/') &&
    !/^\/api\/+(auth|dashboard|visitor|person|admin|pix|openapi\.json)(\/|$)/.test(path)
  )
}

/** Returns the path in the document; a fixed segment takes precedence over a parameter. */
function findDeclaredPath(document: Document, path: string): string | undefined {
  const parts = path.slice('/api'.length).split('/').filter(Boolean)
  if (!parts.every(isValidPart)) return undefined
  const candidates = Object.keys(document.paths).filter(known => {
    const declaredParts = known.slice(1).split('/')
    const isParameter = (part: string) => part.startsWith('{')
    return (
      declaredParts.length === parts.length &&
      declaredParts.every((part, index) => isParameter(part) || part === parts[index])
    )
  })
  return candidates.sort((one, other) => one.split('{').length - other.split('{').length)[0]
}

function isValidPart(part: string): boolean {
  try {
    const text = decodeURIComponent(part)
    return text.isWellFormed() && !text.includes('\0')
  } catch {
    return false
  }
}

function checkHeaders(
  { status, headers }: SentResponse,
  declared: DeclaredResponse | undefined,
): string[] {
  const required = ['x-request-id', ...(REQUIRED_HEADERS[status] ?? [])]
  if (declared && status >= 400) required.push('x-error-code')
  const missing = required.filter(name => !headers[name]).map(name => `${name} is missing`)
  const code = headers['x-error-code']
  const codes = declared?.headers['X-Error-Code']?.schema.enum ?? [code]
  return codes.includes(code) ? missing : [...missing, `the code ${code} is not declared`]
}

function checkBody(
  { method, headers, body }: SentResponse,
  check: ValidateFunction,
  declared: DeclaredResponse | undefined,
): string[] {
  const type = headers['content-type']
  const problems = type === 'application/json; charset=utf-8' ? [] : [`the type is ${type}`]
  if (method === 'HEAD') return problems
  const parsed = parseJson(body)
  if (parsed === undefined) return [...problems, `this is not JSON: ${body.slice(0, 200)}`]
  check(parsed)
  const schemaProblems = (check.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  )
  return [...problems, ...schemaProblems, ...checkMessage(parsed, declared)]
}

/** Checks that the message equals one of the examples, ignoring numbers and names. */
function checkMessage(parsed: unknown, declared: DeclaredResponse | undefined): string[] {
  const { error } = parsed as { error?: string }
  const examples = Object.values(declared?.content['application/json'].examples ?? {})
  if (error === undefined || examples.length === 0) return []
  const known = examples.map(({ value }) => normalizeMessage(value.error ?? ''))
  return known.includes(normalizeMessage(error)) ? [] : [`no example says ${error}`]
}

function normalizeMessage(message: string): string {
  return message
    .replace(/that you do not hold \(.*\):/, 'that you do not hold (…):')
    .replace(/from [\d:.a-f]+:/, 'from …:')
    .replaceAll(/\d+/g, '#')
    .replace(/already \w+$/, 'already …')
    .replace(/^Permission denied: .*/, 'Permission denied: …')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
