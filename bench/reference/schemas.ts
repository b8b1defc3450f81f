const text = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength })
const freeObject = { type: 'object', additionalProperties: true }
const cents = (minimum: number) => ({ type: 'integer', minimum, maximum: 999_999_999_999 })
const webhookUrl = { type: 'string', pattern: '^https?://', maxLength: 2_048 }

export const CHARGE_BODY = {
  type: 'object',
  required: ['amount', 'client_name', 'client_email', 'client_doc'],
  properties: {
    amount: cents(500),
    client_name: text(255),
    client_email: { type: 'string', format: 'email', maxLength: 254 },
    client_doc: { type: 'string', pattern: '^[0-9A-Za-z./ -]{11,18}$' },
    client_phone: text(30),
    webhook_url: webhookUrl,
    ip: { anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }], type: 'string' },
    metadata: { ...freeObject, maxProperties: 20 },
    utms: freeObject,
    items: { type: 'array', maxItems: 50, items: freeObject },
    external_id: text(255),
    expires_in: { type: 'integer', minimum: 60, maximum: 2_592_000 },
  },
}

export const WITHDRAWAL_BODY = {
  type: 'object',
  required: ['amount', 'pix_key', 'pix_key_type'],
  properties: {
    amount: cents(1_000),
    pix_key: text(77),
    pix_key_type: { enum: ['cpf', 'cnpj', 'email', 'phone', 'random'] },
    webhook_url: webhookUrl,
  },
}

export const ID_PARAMS = {
  type: 'object',
  properties: { id: { type: 'string', format: 'uuid' } },
}

const string = { type: 'string' }
const number = { type: 'integer' }

function responseSchema(properties: Record<string, unknown>) {
  return { 200: { type: 'object', properties } }
}

export const CREATED_CHARGE = responseSchema({
  status: string,
  data: {
    type: 'object',
    properties: {
      transaction_id: string,
      br_code: string,
      amount: number,
      status: string,
      metadata: { ...freeObject, nullable: true },
    },
  },
})

export const CREATED_WITHDRAWAL = responseSchema({
  message: string,
  data: {
    type: 'object',
    properties: {
      id: string,
      amount: number,
      status: string,
      pix_key_type: string,
      pix_key: string,
      created_at: string,
    },
  },
})

export const ACCOUNT = responseSchema({ name: string, balance: number })
