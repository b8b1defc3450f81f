import { API_ERRORS } from '#lib/core/refusals.ts'
import {
  type ApiDocument,
  type Header,
  jsonOf,
  type Operation,
  type Parameter,
  type Response,
  resolve,
  type Schema,
} from '#lib/docs/document.ts'
import { describeType, fieldTable } from '#lib/docs/fields.ts'
import { blocks, fence, inlineCode, jsonFence, table } from '#lib/docs/markdown.ts'
import type { ReferenceWords } from '#lib/docs/words.ts'
import { EVENT_TYPES, type EventType, goesToResource } from '#lib/webhooks/states.ts'

/** A page in Markdown. `aside` has samples and examples, which wide windows show beside the rest. */
export interface PageText {
  head: string
  aside: string
  rest: string
}

interface Described {
  document: ApiDocument
  words: ReferenceWords
  /** Cause of each error code. */
  causes: Record<string, { cause: string }>
  /** Address of the pages of this language. */
  base: string
}

export function describeOperation(
  described: Described,
  path: string,
  method: string,
  operation: Operation,
): PageText {
  const { document, words } = described
  const success = resolve<Response>(document, operation.responses[200] ?? {})
  const parameters = (operation.parameters ?? []).map(one => resolve<Parameter>(document, one))
  const samples = operation['x-codeSamples'] ?? []
  const example = jsonOf(success)?.example
  return {
    head: blocks(
      `# ${operation.summary}`,
      `\`${method.toUpperCase()} ${new URL(document.servers[0]?.url ?? '').pathname}${path}\``,
      operation.description,
    ),
    aside: blocks(
      `## ${words.samples}`,
      ...samples.map(({ lang, source }) => fence(lang, source)),
      example !== undefined && blocks(`## ${words.example}`, jsonFence(example)),
    ),
    rest: blocks(
      parameterSection(described, parameters, 'path'),
      parameterSection(described, parameters, 'query'),
      parameterSection(described, parameters, 'header'),
      bodySection(described, words.body, jsonOf(operation.requestBody)?.schema, true),
      bodySection(described, words.response, jsonOf(success)?.schema, false),
      headerSection(described, success),
      errorSection(described, operation),
    ),
  }
}

export function describeWebhook(
  described: Described,
  type: string,
  operation: Operation,
): PageText {
  const { document, words } = described
  const parameters = (operation.parameters ?? []).map(one => resolve<Parameter>(document, one))
  const body = jsonOf(operation.requestBody)
  return {
    head: blocks(`# ${inlineCode(type)}`, operation.description, ...receiversOf(words, type)),
    aside: blocks(`## ${words.example}`, jsonFence(body?.example)),
    rest: blocks(
      parameterSection(described, parameters, 'header'),
      bodySection(described, words.body, body?.schema, false),
    ),
  }
}

function receiversOf(words: ReferenceWords, type: string): (string | false)[] {
  return [
    EVENT_TYPES.some(name => name === type) && goesToResource(type as EventType)
      ? words.webhookText
      : words.endpointText,
    type.startsWith('transaction.') && words.payerText,
  ]
}

function parameterSection(
  { document, words }: Described,
  parameters: Parameter[],
  place: Parameter['in'],
): string {
  const rows = parameters
    .filter(parameter => parameter.in === place)
    .map(({ name, required, schema, description }) => [
      `${inlineCode(name)}${required ? ` **${words.required}**` : ''}`,
      describeType(document, words, schema),
      description,
    ])
  const titles = { path: words.path, query: words.query, header: words.headers }
  return rows.length > 0
    ? blocks(`## ${titles[place]}`, table([words.name, words.type, words.description], rows))
    : ''
}

function bodySection(
  { document, words }: Described,
  title: string,
  schema: Schema | undefined,
  marksRequired: boolean,
): string {
  const fields = schema ? fieldTable(document, words, schema, marksRequired) : ''
  return fields && blocks(`## ${title}`, fields)
}

function headerSection({ document, words }: Described, { headers = {} }: Response): string {
  const rows = Object.entries(headers).map(([name, part]) => [
    inlineCode(name),
    resolve<Header>(document, part).description,
  ])
  return blocks(`## ${words.responseHeaders}`, table([words.name, words.description], rows))
}

/** Lists the error codes of the operation; each leads to its entry among all codes. */
function errorSection({ document, words, causes, base }: Described, operation: Operation): string {
  const codes = Object.values(operation.responses).flatMap(part => {
    const { headers } = resolve<Response>(document, part)
    const code = headers?.['X-Error-Code'] as { schema: { enum: string[] } } | undefined
    return code?.schema.enum ?? []
  })
  const rows = API_ERRORS.filter(({ code }) => codes.includes(code)).map(({ code, status }) => [
    String(status),
    `[${inlineCode(code)}](${base}/errors#${code})`,
    causes[code]?.cause ?? '',
  ])
  return blocks(`## ${words.errors}`, table([words.status, words.code, words.cause], rows))
}
