import {
  type ApiDocument,
  jsonOf,
  type Operation,
  type Parameter,
  resolve,
} from '#lib/docs/document.ts'

/** Makes a collection for Postman (format 2.1) with one request for each operation. */
export function toPostman(document: ApiDocument): object {
  return {
    info: {
      name: 'Troco',
      description: document.info.description,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{token}}', type: 'string' }] },
    variable: [
      { key: 'api', value: document.servers[0]?.url, type: 'string' },
      { key: 'token', value: '', type: 'string' },
    ],
    item: document.tags
      .map(({ name, description }) => ({ name, description, item: requestsOf(document, name) }))
      .filter(({ item }) => item.length > 0),
  }
}

function requestsOf(document: ApiDocument, tag: string): object[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags }]) => tags.includes(tag))
      .map(([method, operation]) => requestOf(document, path, method, operation)),
  )
}

function requestOf(
  document: ApiDocument,
  path: string,
  method: string,
  operation: Operation,
): object {
  const parameters = (operation.parameters ?? []).map(one => resolve<Parameter>(document, one))
  const of = (place: string) => parameters.filter(parameter => parameter.in === place)
  const describe = ({ name, description, example }: Parameter) => ({
    key: name,
    value: example === undefined ? '' : String(example),
    description,
  })
  const body = jsonOf(operation.requestBody)?.example
  const hasKey = of('header').some(({ name }) => name === 'Idempotency-Key')
  const postmanPath = path.slice(1).replaceAll(/\{(\w+)\}/g, ':$1')
  return {
    name: operation.summary,
    request: {
      method: method.toUpperCase(),
      description: operation.description,
      header: [
        ...(body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }]),
        ...(hasKey ? [{ key: 'Idempotency-Key', value: '{{$guid}}' }] : []),
      ],
      url: {
        raw: `{{api}}/${postmanPath}`,
        host: ['{{api}}'],
        path: postmanPath.split('/'),
        variable: of('path').map(describe),
        query: of('query').map(parameter => ({ ...describe(parameter), disabled: true })),
      },
      ...(body === undefined ? {} : { body: { mode: 'raw', raw: JSON.stringify(body, null, 2) } }),
    },
  }
}
