const text = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength })
const FREE_OBJECT = { type: 'object', additionalProperties: true }
const cents = (minimum: number) => ({ type: 'integer', minimum, maximum: 999_999_999_999 })
const WEBHOOK_URL = { type: 'string', pattern: '^https?://', maxLength: 2_048 }

export const CHARGE_BODY = {
  type: 'object',
  required: ['amount', 'client_name', 'client_email', 'client_doc'],
  properties: {
    amount: cents(500),
    client_name: text(255),
    client_email: { type: 'string', format: 'email', maxLength: 254 },
    client_doc: { type: 'string', pattern: '^[0-9A-Za-z./ -]{11,18}$' },
    client_phone: text(30),
    webhook_url: WEBHOOK_URL,
    ip: { anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }], type: 'string' },
    metadata: { ...FREE_OBJECT, maxProperties: 20 },
    utms: FREE_OBJECT,
    items: { type: 'array', maxItems: 50, items: FREE_OBJECT },
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
    webhook_url: WEBHOOK_URL,
  },
}

export const ID_PARAMS = {
  type: 'object',
  properties: { id: { type: 'string', format: 'uuid' } },
}

const STRING = { type: 'string' }
const INTEGER = { type: 'integer' }

function responseSchema(properties: Record<string, unknown>) {
  return { 200: { type: 'object', properties } }
}

export const CREATED_CHARGE = responseSchema({
  status: STRING,
  data: {
    type: 'object',
    properties: {
      transaction_id: STRING,
      br_code: STRING,
      amount: INTEGER,
      status: STRING,
      metadata: { ...FREE_OBJECT, nullable: true },
    },
  },
})

export const CREATED_WITHDRAWAL = responseSchema({
  message: STRING,
  data: {
    type: 'object',
    properties: {
      id: STRING,
      amount: INTEGER,
      status: STRING,
      pix_key_type: STRING,
      pix_key: STRING,
      created_at: STRING,
    },
  },
})

export const ACCOUNT = responseSchema({ name: STRING, balance: INTEGER })
