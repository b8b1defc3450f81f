import { EFI_DEVIATIONS } from './efi-deviations.ts'
import type { OpenApi, Schema } from './openapi.ts'
import {
  addResponses,
  type Correction,
  forEachSchema,
  OAUTH_ERROR,
  propertiesOf,
  schemaOf,
} from './openapi-edits.ts'
import type { Kind } from './settings.ts'

const PROBLEM = { $ref: '#/components/schemas/Problema' }
const TEXT = { type: 'string' }

/**
 * What version 2.9.0 of Banco Central's document says by mistake or leaves out. corrections.test.ts
 * shows that each is needed.
 */
export const CORRECTIONS: Correction[] = [
  {
    name: 'cpf',
    reason: 'the pattern contains the slashes of a literal, so that no CPF matches',
    apply: document =>
      forEachSchema(document, schema => {
        if (schema.pattern === '/^\\d{11}$/') schema.pattern = '^\\d{11}$'
      }),
  },
  {
    name: 'whole texts',
    reason: 'patterns of amounts and ids are not anchored, so that x-1.001y is an amount',
    apply: document =>
      forEachSchema(document, schema => {
        const { pattern } = schema
        if (typeof pattern === 'string' && /^(\\d|\[)/.test(pattern))
          schema.pattern = `^(${pattern})$`
      }),
  },
  {
    name: 'list of payments',
    reason: 'it requires cobs, which it does not have, instead of pix',
    apply: document => {
      schemaOf(document, 'PixConsultados').required = ['parametros', 'pix']
    },
  },
  {
    name: 'txid of a payment',
    reason: 'static codes have txids of 1 to 35 characters; the base of the schema demands 26',
    apply: document => {
      const txid = { ...TEXT, pattern: '^[a-zA-Z0-9]{1,35}$' }
      for (const name of ['Pix', 'ParametrosConsultaPix'])
        propertiesOf(document, name).txid = { ...txid }
      const parameters = document.paths['/pix']?.get?.parameters ?? []
      for (const parameter of parameters)
        if (parameter.name === 'txid') parameter.schema = { ...txid }
    },
  },
  {
    name: 'list of charges',
    reason: 'it requires an idCob, which no schema has',
    apply: document =>
      forEachSchema(schemaOf(document, 'CobsConsultadas'), schema => {
        if (Array.isArray(schema.required))
          schema.required = schema.required.filter(name => name !== 'idCob')
      }),
  },
  {
    name: 'location in a charge',
    reason: 'it requires a txid, which its schema does not have',
    apply: document =>
      forEachSchema(schemaOf(document, 'CobGerada'), ({ loc }) => {
        if (loc) (loc as Schema).required = ['id', 'location', 'tipoCob']
      }),
  },
  {
    name: 'location in a request',
    reason: 'it requires a tipoCob, which its schema does not have',
    apply: document => {
      schemaOf(document, 'PayloadLocationCob').required = ['id']
    },
  },
  {
    name: 'address of a location',
    reason: 'by its description it has no scheme, so that it is no URI',
    apply: document =>
      forEachSchema(document, ({ location }) => {
        delete (location as Schema | undefined)?.format
      }),
  },
  {
    name: 'webhook',
    reason: 'it requires a cnpj; its examples and all banks give the key',
    apply: document => {
      schemaOf(document, 'WebhookCompleto').required = ['webhookUrl', 'chave', 'criacao']
      propertiesOf(document, 'WebhookCompleto').chave = { ...TEXT, maxLength: 77 }
    },
  },
  {
    name: 'additional texts',
    reason: 'the list is limited by maximum, which limits numbers only',
    apply: document =>
      forEachSchema(document, schema => {
        if (schema.type === 'array' && schema.maximum) schema.maxItems = schema.maximum
      }),
  },
  {
    name: 'notice',
    reason: 'its schema has no type and requires nothing, so that it describes every body',
    apply: document => {
      const { content } = document.components.requestBodies?.WebhookPixBody ?? {}
      const schema = (content as Record<string, { schema: Schema }>)['application/json']?.schema
      Object.assign(schema ?? {}, { type: 'object', required: ['pix'] })
    },
  },
  {
    name: 'refused queries',
    reason: 'the errors CobConsultaInvalida and others have the status 400, which no query lists',
    apply: document =>
      addResponses(document, [400], { 'application/problem+json': { schema: PROBLEM } }),
  },
  {
    name: 'refused tokens',
    reason: 'no operation lists 401, the response of OAuth 2.0 to an expired token',
    apply: document =>
      addResponses(document, [401], { 'application/json': { schema: OAUTH_ERROR } }),
  },
  {
    name: 'key of an application',
    reason: 'Banco do Brasil demands it in the query of every call',
    apply: document => {
      const schema = { ...TEXT, minLength: 1 }
      for (const path of Object.values(document.paths))
        for (const operation of Object.values(path))
          if (operation.responses)
            operation.parameters = [
              ...(operation.parameters ?? []),
              { name: 'gw-dev-app-key', in: 'query', schema },
            ]
    },
  },
  ...EFI_DEVIATIONS,
]

/** Returns a corrected copy of the document for one kind of bank, without the named correction. */
export function correct(document: OpenApi, kind: Kind, without?: string): OpenApi {
  const corrected = structuredClone(document)
  for (const correction of CORRECTIONS)
    if ((correction.kind ?? kind) === kind && correction.name !== without)
      correction.apply(corrected)
  return corrected
}
