import type { Account } from '#lib/accounts/schema.ts'
import { newRoutableId } from '#lib/core/ids.ts'
import { db, type Prisma } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { addConnection } from '#lib/testing/connection.ts'
import { type Api, CHARGE, fundMerchant, makeMerchant, makeToken } from '#lib/testing/fixtures.ts'

type Fields = Record<string, unknown>

export interface Row {
  id: string
  created_at: string
}

interface ListKind {
  path: string
  body: Fields
  finalStatuses: [string, string]
  /** Inserts a row that the API cannot create: in another mode or in the past. */
  insert: (accountId: string, row: Fields) => Promise<{ id: string }>
}

/** A withdrawal that stays pending until a test decides it. */
export const WITHDRAWAL = { amount: 1_000, pix_key: 'hold@example.com', pix_key_type: 'email' }

export const LISTS: ListKind[] = [
  { path: '/transactions', body: CHARGE, finalStatuses: ['failed', 'paid'], insert: insertCharge },
  {
    path: '/withdrawals',
    body: WITHDRAWAL,
    finalStatuses: ['rejected', 'approved'],
    insert: insertWithdrawal,
  },
]

async function insertCharge(accountId: string, row: Fields) {
  const id = String(row.id ?? newRoutableId(accountId))
  const { client_name: clientName, client_email: clientEmail, client_doc: clientDoc } = CHARGE
  const names = { id, txid: id.replaceAll('-', ''), externalId: id.replaceAll('-', '') }
  const state = { mode: 'test', status: 'pending', brCode: 'x', expiresAt: new Date() }
  const terms = { amount: CHARGE.amount, clientName, clientEmail, clientDoc }
  const connection = await connectionOf(row)
  const data = { accountId, ...names, ...terms, ...state, ...connection, ...row }
  return db().charge.create({ data })
}

async function insertWithdrawal(accountId: string, row: Fields) {
  const key = { pixKeyType: 'email', pixKey: WITHDRAWAL.pix_key, dictKey: WITHDRAWAL.pix_key }
  const state = { mode: 'test', status: 'pending', amount: WITHDRAWAL.amount }
  const slot = { accountId, id: newRoutableId(accountId), ...(await connectionOf(row)) }
  const { dueAt, slotUntil = null, sentAt, attempts = 0, ...columns } = row
  const made = await db().withdrawal.create({
    data: { ...slot, ...key, ...state, ...columns } as Prisma.WithdrawalUncheckedCreateInput,
  })
  if (!dueAt) return made
  const { id, mode, connectionId, amount, dictKey: target, createdAt } = made
  const terms = { accountId, id, kind: 'withdrawal', operation: 'payout', mode, connectionId }
  const progress = { state: slotUntil ? 'placed' : 'waiting', dueAt, slotUntil, attempts }
  const data = { ...terms, amount, target, createdAt, ...progress, sentAt }
  await db().bankOrder.create({ data: data as Prisma.BankOrderUncheckedCreateInput })
  return made
}

/** The columns' default is the simulator, which serves test mode only. */
async function connectionOf({ mode, connectionId }: Fields) {
  if (mode !== 'live' || connectionId) return {}
  return { connectionId: await addConnection(new StubBank()) }
}

/** Makes a merchant with `count` rows, oldest first, with the references `row 0`, `row 1`, …. */
export async function makeList(api: Api, { path, body }: ListKind, count: number) {
  const merchant: Account = await makeMerchant()
  const token = await makeToken(merchant.id)
  // Only for withdrawals: the balance comes from a charge, which would be in the list of charges.
  if (path === '/withdrawals') await fundMerchant(merchant, 100_000)
  const rows: Row[] = []

  async function add(extra: Fields = {}): Promise<Row> {
    const { data } = (await send('POST', path, { ...body, ...extra })).body
    const row = (await send('GET', `${path}/${data.transaction_id ?? data.id}`)).body.data
    rows.push(row)
    return row
  }
  const send = (method: string, requestPath: string, requestBody?: unknown) =>
    call(api.url, method, requestPath, { token, body: requestBody })
  const list = (query: Fields = {}, caller = token) =>
    call(api.url, 'GET', `${path}?${new URLSearchParams(query as Record<string, string>)}`, {
      token: caller,
    })
  const idsOf = async (query: Fields = {}, caller = token): Promise<string[]> =>
    (await list(query, caller)).body.data.map(({ id }: Row) => id)

  async function walk(query: Fields, between = async () => {}): Promise<string[][]> {
    const pages: string[][] = []
    let cursor: string | null = null
    do {
      const { body } = await list({ ...query, ...(cursor ? { cursor } : {}) })
      pages.push(body.data.map(({ id }: Row) => id))
      cursor = body.next_cursor
      await between()
    } while (cursor !== null)
    return pages
  }

  for (let index = 0; index < count; index++) await add({ external_id: `row ${index}` })
  const at = (index: number): Row => rows[index] ?? { id: '', created_at: '' }
  const newest = () => rows.map(({ id }) => id).toReversed()
  return { merchant, token, rows, at, newest, add, send, list, idsOf, walk }
}

export type List = Awaited<ReturnType<typeof makeList>>
