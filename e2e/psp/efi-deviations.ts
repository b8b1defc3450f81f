import type { Schema } from './openapi.ts'
import {
  addResponses,
  type Correction,
  OAUTH_ERROR,
  propertiesOf,
  schemaOf,
} from './openapi-edits.ts'

const TEXT = { type: 'string' }
const EFI_ERROR = {
  type: 'object',
  required: ['nome', 'mensagem'],
  properties: {
    nome: TEXT,
    mensagem: TEXT,
    erros: {
      type: 'array',
      items: {
        type: 'object',
        required: ['chave', 'caminho', 'mensagem'],
        properties: { chave: TEXT, caminho: TEXT, mensagem: TEXT },
      },
    },
  },
}

/** What Efí documents to be different from Banco Central's document. */
export const EFI_DEVIATIONS: Correction[] = [
  {
    name: 'errors of Efí',
    reason: 'they have shapes of their own and the statuses 403 and 409 for further cases',
    kind: 'efi',
    apply: document =>
      addResponses(document, [400, 403, 409], {
        'application/json': { schema: { anyOf: [EFI_ERROR, OAUTH_ERROR] } },
      }),
  },
  {
    name: 'list of locations of Efí',
    reason: 'it is called locs',
    kind: 'efi',
    apply: document => {
      const list = schemaOf(document, 'PayloadLocationConsultadas')
      const { loc: locs, ...others } = list.properties as Record<string, Schema>
      Object.assign(list, { properties: { ...others, locs }, required: ['parametros', 'locs'] })
    },
  },
  {
    name: 'registered webhook of Efí',
    reason: 'the response repeats the address, with 201 if it is new',
    kind: 'efi',
    apply: document => {
      const schema = { $ref: '#/components/schemas/WebhookSolicitado' }
      const responses = document.paths['/webhook/{chave}']?.put?.responses ?? {}
      responses[200] = responses[201] = { content: { 'application/json': { schema } } }
    },
  },
  {
    name: 'additions of Efí to a notice',
    reason: 'the settings of the account add the payer and the fee',
    kind: 'efi',
    apply: document => {
      const payer = { nome: TEXT, cpf: TEXT, cnpj: TEXT, codigoBanco: TEXT }
      propertiesOf(document, 'Pix').gnExtras = {
        type: 'object',
        properties: { pagador: { type: 'object', properties: payer }, tarifa: TEXT },
      }
    },
  },
]
