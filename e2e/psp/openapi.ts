import { readFileSync } from 'node:fs'
import { parseYaml } from '@redocly/openapi-core'
import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'

/** Where Banco Central's document is looked for: it lies beside the repository, not in it. */
export const DOCUMENT_FILE = process.env.PIX_OPENAPI || '../shared/data/pix-openapi-2.9.0.yaml'

export type Schema = Record<string, unknown>

export interface Parameter {
  name: string
  in: string
  required?: boolean
  schema: Schema
}

/** A request's body or a response. */
export interface Content {
  content?: Record<string, { schema: Schema }>
}

export interface Operation {
  parameters?: Parameter[]
  requestBody?: Content
  responses: Record<string, Content>
  callbacks?: Record<string, Record<string, { post: Operation }>>
}

type PathItem = { [method: string]: Operation } & { parameters?: never }

/** The parts of an OpenAPI 3.0 document that judging needs. */
export interface OpenApi {
  paths: Record<string, PathItem>
  components: Record<string, Record<string, Schema>>
}

/** Reads a document without its examples, which are half of it. */
export function readOpenApi(file: string): OpenApi {
  const document = parseYaml(readFileSync(file, 'utf8')) as OpenApi | undefined
  if (!document?.paths || !document.components)
    throw new Error(`${file} is not an OpenAPI document with paths and components`)
  return { ...document, components: { ...document.components, examples: {} } }
}

/** Follows a reference within the document. */
export function resolve<T>(document: OpenApi, part: T): T {
  const reference = (part as { $ref?: unknown } | null)?.$ref
  if (typeof reference !== 'string') return part
  const [, , kind = '', name = ''] = reference.split('/')
  return document.components[kind]?.[name] as T
}

/**
 * Finds the operation of a request; a fixed part of a path takes precedence over a parameter.
 * Returns the values of the path's parameters as well.
 */
export function findOperation(document: OpenApi, method: string, pathname: string) {
  const sent = pathname.split('/')
  const isMatch = (names: string[]) =>
    names.length === sent.length &&
    names.every((name, index) => name.startsWith('{') || name === sent[index])
  const [path] = Object.keys(document.paths)
    .filter(candidate => isMatch(candidate.split('/')))
    .sort((one, other) => one.split('{').length - other.split('{').length)
  const item = document.paths[path ?? '']
  const operation = item?.[method.toLowerCase()]
  if (!path || !operation) return null
  const inPath = (item.parameters ?? []) as Parameter[]
  const values = path
    .split('/')
    .flatMap((name, index) =>
      name.startsWith('{') ? [[name.slice(1, -1), decode(sent[index] ?? '')]] : [],
    )
  return {
    label: `${method} ${path}`,
    operation,
    values: Object.fromEntries(values),
    parameters: [...inPath, ...(operation.parameters ?? [])].map(one => resolve(document, one)),
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Checks values against schemas of one document. */
export class Checker {
  readonly #document: OpenApi
  readonly #ajv = makeAjv(false)
  readonly #ajvOfText = makeAjv(true)
  readonly #compiled = new Map<Schema, ValidateFunction>()

  constructor(document: OpenApi) {
    this.#document = document
  }

  /** Returns the objections. `isText`: numbers and flags are read from text, as in a query. */
  check(schema: Schema, value: unknown, isText = false): string[] {
    const validate = this.#compile(schema, isText)
    validate(value)
    const errors = (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    )
    return [...errors, ...this.#listUndeclared([schema], value, '')]
  }

  #compile(schema: Schema, isText: boolean): ValidateFunction {
    const known = this.#compiled.get(schema)
    if (known) return known
    const { components } = this.#document
    const ajv = isText ? this.#ajvOfText : this.#ajv
    const validate = ajv.compile({ components, allOf: [schema] })
    this.#compiled.set(schema, validate)
    return validate
  }

  /** Lists properties that no schema declares: an optional one may be misspelt. */
  #listUndeclared(schemas: Schema[], value: unknown, path: string): string[] {
    if (typeof value !== 'object' || value === null) return []
    const parts = schemas.flatMap(schema => this.#listParts(schema))
    if (Array.isArray(value)) {
      const items = parts.flatMap(({ items }) => (items ? [items as Schema] : []))
      return value.flatMap((item, index) => this.#listUndeclared(items, item, `${path}/${index}`))
    }
    const declared = parts.flatMap(({ properties }) =>
      properties ? [properties as Record<string, Schema>] : [],
    )
    if (declared.length === 0) return []
    return Object.entries(value).flatMap(([name, inner]) => {
      const own = declared.map(properties => properties[name]).filter(one => one !== undefined)
      const place = `${path}/${name}`
      return own.length === 0
        ? [`${place} is not declared`]
        : this.#listUndeclared(own, inner, place)
    })
  }

  /** Returns the schema and all that it is composed of. */
  #listParts(schema: Schema): Schema[] {
    const resolved = resolve(this.#document, schema)
    const { allOf, oneOf, anyOf } = resolved as Record<string, Schema[] | undefined>
    const inner = [allOf, oneOf, anyOf].flatMap(list => list ?? [])
    return [resolved, ...inner.flatMap(part => this.#listParts(part))]
  }
}

/** OpenAPI 3.0 has keywords of its own, which this validator ignores. */
function makeAjv(coerceTypes: boolean): Ajv {
  const ajv = new Ajv({ allErrors: true, strict: false, coerceTypes, logger: false })
  formats.default(ajv)
  return ajv
}
