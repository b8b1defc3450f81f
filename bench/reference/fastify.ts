/**
 * Reference server: the same durable work as Troco in the fewest statements, without limits,
 * idempotency, sessions and uniform errors. Values that must be equal come from the same functions.
 */
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { Pool, types } from 'pg'
import { buildSimulatedCode } from '#lib/banks/simulator.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { paymentUrl } from '#lib/charges/urls.ts'
import { chargeToWire } from '#lib/charges/wire.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { normalizePixKey, type PixKeyType } from '#lib/core/pix/pix-key.ts'
import { env } from '#lib/core/settings.ts'
import { tokenHashBytes } from '#lib/tokens/authenticate.ts'
import * as schemas from './schemas.ts'
import * as statements from './statements.ts'

const INT8_OID = 20
types.setTypeParser(INT8_OID, Number)

const { DATABASE_URL, DATABASE_OWNER_URL, DATABASE_POOL_MAX, PORT } = env()
// Its statements write the books themselves, which only the owner may.
const connectionString = DATABASE_OWNER_URL ?? DATABASE_URL
const pool = new Pool({ connectionString, max: DATABASE_POOL_MAX })

const app = Fastify({
  bodyLimit: 64 * 1024,
  ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allowUnionTypes: true } },
})

interface Merchant {
  name: string
  city: string
  expires_in: number
}

const merchants = new Map<string, Merchant>()

function hashToken(request: FastifyRequest): Buffer {
  const [, token = ''] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  return Buffer.from(tokenHashBytes(token))
}

function sendError(reply: FastifyReply, status: number, error: string) {
  return reply.code(status).send({ error })
}

const unauthenticated = (reply: FastifyReply) => sendError(reply, 401, 'Unauthenticated')

async function readMerchant(hash: Buffer, key: string): Promise<Merchant | undefined> {
  const { rows } = await pool.query<Merchant>(statements.READ_MERCHANT, [hash])
  if (rows[0]) merchants.set(key, rows[0])
  else merchants.delete(key)
  return rows[0]
}

interface ChargeBody {
  amount: number
  client_name: string
  client_email: string
  client_doc: string
  client_phone?: string
  webhook_url?: string
  ip?: string
  metadata?: Record<string, unknown>
  utms?: Record<string, unknown>
  items?: unknown[]
  external_id?: string
  expires_in?: number
}

const toJson = (value: unknown) => (value === undefined ? null : JSON.stringify(value))

async function insertCharge(hash: Buffer, merchant: Merchant, body: ChargeBody, ip: string) {
  const id = newId()
  const txid = removeHyphens(id)
  const { name: merchantName, city: merchantCity } = merchant
  const code = buildSimulatedCode({ txid, amount: body.amount, merchantName, merchantCity })
  const { rowCount } = await pool.query(statements.CREATE_CHARGE, [
    hash,
    id,
    body.amount,
    body.external_id,
    txid,
    code,
    body.client_name,
    body.client_email,
    body.client_doc,
    body.client_phone,
    body.webhook_url,
    body.ip ?? ip,
    toJson(body.metadata),
    toJson(body.utms),
    toJson(body.items),
    body.expires_in,
    merchantName,
    merchantCity,
  ])
  return rowCount === 1 ? { id, code } : null
}

app.post<{ Body: ChargeBody }>(
  '/api/transactions',
  { schema: { body: schemas.CHARGE_BODY, response: schemas.CREATED_CHARGE } },
  async (request, reply) => {
    const { body } = request
    const hash = hashToken(request)
    const key = hash.toString('base64')
    let merchant = merchants.get(key)
    let created = merchant && (await insertCharge(hash, merchant, body, request.ip))
    if (!created) {
      merchant = await readMerchant(hash, key)
      created = merchant && (await insertCharge(hash, merchant, body, request.ip))
    }
    if (!created) return unauthenticated(reply)
    const { amount, metadata = null } = body
    const data = { transaction_id: created.id, br_code: created.code, amount, status: 'pending' }
    return { status: 'success', data: { ...data, metadata } }
  },
)

const serializeCharge = (row: ChargeRow) => chargeToWire(row, paymentUrl(row.id))

app.get<{ Params: { id: string } }>(
  '/api/transactions/:id',
  { schema: { params: schemas.ID_PARAMS } },
  async (request, reply) => {
    const values = [hashToken(request), request.params.id]
    const [row] = (await pool.query<ChargeRow>(statements.READ_CHARGE, values)).rows
    if (!row) return unauthenticated(reply)
    if (row.id === null) return sendError(reply, 404, 'Transaction not found')
    return { status: 'success', data: serializeCharge(row) }
  },
)

app.get<{ Querystring: { limit: string } }>('/api/transactions', async (request, reply) => {
  const limit = Number(request.query.limit ?? 20)
  if (!(limit >= 1 && limit <= 100)) return sendError(reply, 422, 'limit')
  // One row more than the page shows whether there is a next page.
  const { rows } = await pool.query<ChargeRow>(statements.LIST_CHARGES, [
    hashToken(request),
    limit + 1,
  ])
  if (rows.length === 0) return unauthenticated(reply)
  const shown = rows.filter(row => row.id !== null).slice(0, limit)
  const next_cursor = rows.length > limit ? shown.at(-1)?.id : null
  return { data: shown.map(serializeCharge), next_cursor }
})

app.get(
  '/api/account',
  { schema: { response: schemas.ACCOUNT } },
  async (request, reply) =>
    (await pool.query(statements.READ_ACCOUNT, [hashToken(request)])).rows[0] ??
    unauthenticated(reply),
)

interface WithdrawalBody {
  amount: number
  pix_key: string
  pix_key_type: PixKeyType
  webhook_url?: string
}

app.post<{ Body: WithdrawalBody }>(
  '/api/withdrawals',
  { schema: { body: schemas.WITHDRAWAL_BODY, response: schemas.CREATED_WITHDRAWAL } },
  async (request, reply) => {
    const { amount, pix_key, pix_key_type, webhook_url } = request.body
    const reading = normalizePixKey(pix_key_type, pix_key, 'form')
    if (!reading.ok) return sendError(reply, 422, 'pix_key')
    const id = newId()
    const { rows } = await pool.query<{ created_at: string | null }>(statements.WITHDRAW, [
      hashToken(request),
      id,
      amount,
      pix_key_type,
      pix_key,
      reading.key,
      webhook_url,
    ])
    const [row] = rows
    if (!row) return unauthenticated(reply)
    if (row.created_at === null) return sendError(reply, 422, 'Insufficient balance')
    const data = { id, amount, status: 'pending', pix_key_type, pix_key }
    return { message: 'Withdrawal created', data: { ...data, created_at: row.created_at } }
  },
)

app.get('/healthz', async () => ({ status: 'ok' }))

await app.listen({ port: PORT, host: '127.0.0.1' })
process.on('disconnect', () => process.exit())
