import {
  Checker,
  type Content,
  findOperation,
  type OpenApi,
  type Operation,
  type Parameter,
  resolve,
  type Schema,
} from './openapi.ts'
import { type Exchange, TEST_CLIENT } from './traffic.ts'

/** What became of a request or response. */
export type Outcome =
  | 'accepted'
  | 'refused'
  /** A wrong request of the tests' own client, which the bank refused as well. */
  | 'refused by both'
  /** A fault, a quirk or the text of a test: wrong on purpose. */
  | 'ordered'
  /** The document says nothing about it. */
  | 'not described'
  /** There was no response, or not a whole one. */
  | 'absent'

export interface Verdict {
  operation: string
  part: 'request' | 'response'
  outcome: Outcome
  objections: string[]
}

const TOKEN_PATH = '/oauth/token'
/** Calls that only Efí has. */
const EFI_PATTERN = /^\/v[23]\/gn\//
const BASE_PATTERN = /^\/v2(?=\/)/
const ORDERED_FAULTS = ['respond', 'quirk']
const JSON_TYPE = 'application/json'

/** Judges exchanges by an OpenAPI document. */
export class DocumentJudge {
  readonly #document: OpenApi
  readonly #checker: Checker

  constructor(document: OpenApi) {
    this.#document = document
    this.#checker = new Checker(document)
  }

  /** Returns one verdict about the request and one about the response. */
  judge(exchange: Exchange): Verdict[] {
    if (exchange.to === 'receiver') return this.#judgeNotice(exchange)
    const { method, target, kind } = exchange
    const url = new URL(target, 'https://bank')
    if (url.pathname === TOKEN_PATH || (kind === 'efi' && EFI_PATTERN.test(url.pathname)))
      return bothParts(`${method} ${exchange.route ?? url.pathname}`, 'not described')
    const found = findOperation(this.#document, method, url.pathname.replace(BASE_PATTERN, ''))
    if (!found) {
      const objections = ['The document has no such operation']
      const request = verdictOfRequest(exchange, `${method} ${url.pathname}`, objections)
      return [request, { ...request, part: 'response', outcome: 'not described', objections: [] }]
    }
    const { label, operation, parameters, values } = found
    const query = Object.fromEntries(url.searchParams)
    const objections = [
      ...this.#checkParameters(parameters, 'path', values),
      ...this.#checkParameters(parameters, 'query', query),
      ...this.#checkRequestBody(operation.requestBody, exchange),
    ]
    return [
      verdictOfRequest(exchange, label, objections),
      { operation: label, part: 'response', ...this.#judgeResponse(operation, exchange) },
    ]
  }

  /** Judges the request of the callback. The document leaves the receiver's refusals open. */
  #judgeNotice(exchange: Exchange): Verdict[] {
    const label = 'POST {webhookUrl}/pix'
    const { fault, requestBody, status } = exchange
    if (fault) return bothParts(label, 'ordered')
    if (isOtherNotice(requestBody)) return bothParts('POST {webhookUrl} of Efí', 'not described')
    const callbacks = this.#document.paths['/webhook/{chave}']?.put?.callbacks ?? {}
    const [callback = {}] = Object.values(callbacks)
    const objections = this.#checkRequestBody(
      Object.values(callback)[0]?.post.requestBody,
      exchange,
    )
    const outcome = status === null ? 'absent' : status === 200 ? 'accepted' : 'not described'
    return [
      verdictOfRequest(exchange, label, objections),
      { operation: label, part: 'response', outcome, objections: [] },
    ]
  }

  #checkParameters(parameters: Parameter[], place: string, values: Record<string, string>) {
    const declared = parameters.filter(parameter => parameter.in === place)
    const undeclared = Object.keys(values)
      .filter(name => !declared.some(parameter => parameter.name === name))
      .map(name => `${place}: ${name} is not declared`)
    const objections = declared.flatMap(({ name, required, schema }) => {
      const value = values[name]
      if (value === undefined) return required ? [`${place}: ${name} is missing`] : []
      // A property, because only those are converted from text.
      const whole = this.#propertyOf(name, schema)
      return this.#checker.check(whole, { [name]: value }, true).map(text => `${place}: ${text}`)
    })
    return [...undeclared, ...objections]
  }

  readonly #properties = new Map<Schema, Schema>()

  #propertyOf(name: string, schema: Schema): Schema {
    const known = this.#properties.get(schema) ?? { properties: { [name]: schema } }
    this.#properties.set(schema, known)
    return known
  }

  #checkRequestBody(body: Content | undefined, { requestHeaders, requestBody }: Exchange) {
    const described = resolve(this.#document, body)
    return this.#checkBody(described, requestHeaders['content-type'], requestBody)
  }

  #judgeResponse(
    operation: Operation,
    exchange: Exchange,
  ): Pick<Verdict, 'outcome' | 'objections'> {
    const { status, fault, responseHeaders, responseBody } = exchange
    if (status === null) return { outcome: 'absent', objections: [] }
    if (fault && ORDERED_FAULTS.includes(fault)) return { outcome: 'ordered', objections: [] }
    const described = resolve(this.#document, operation.responses[status])
    const objections = described
      ? this.#checkBody(described, responseHeaders['content-type'], responseBody)
      : [`The status ${status} is not described: ${responseBody}`]
    const named = objections.map(objection => `${status}: ${objection}`)
    return { outcome: named.length === 0 ? 'accepted' : 'refused', objections: named }
  }

  #checkBody(described: Content | undefined, type: string | undefined, text: string): string[] {
    const content = described?.content
    if (!content) return text === '' ? [] : [`There must be no body: ${text}`]
    const [plainType = JSON_TYPE] = (type ?? 'none').split(';')
    const schema = content[plainType]?.schema
    if (!schema) return [`The type ${type} is not described: ${text}`]
    try {
      return this.#checker.check(schema, JSON.parse(text))
    } catch (error) {
      if (error instanceof SyntaxError) return [`The body is not JSON: ${text}`]
      throw error
    }
  }
}

function verdictOfRequest(exchange: Exchange, operation: string, objections: string[]): Verdict {
  const isOnPurpose = exchange.requestHeaders['user-agent'] === TEST_CLIENT
  const isRefused = (exchange.status ?? 0) >= 400 && exchange.fault !== 'respond'
  if (objections.length === 0)
    return { operation, part: 'request', outcome: 'accepted', objections }
  if (isOnPurpose && isRefused)
    return { operation, part: 'request', outcome: 'refused by both', objections: [] }
  return { operation, part: 'request', outcome: 'refused', objections }
}

function bothParts(operation: string, outcome: Outcome): Verdict[] {
  const parts = ['request', 'response'] as const
  return parts.map(part => ({ operation, part, outcome, objections: [] }))
}

/** Whether a notice is Efí's own: the trial of an address, or about a payout. */
function isOtherNotice(text: string): boolean {
  const body = JSON.parse(text)
  return (
    'evento' in body || body.pix?.every?.(({ tipo }: { tipo?: string }) => tipo === 'SOLICITACAO')
  )
}
