import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { createCharge } from '#lib/charges/create.ts'
import { listCharges, totalCharges } from '#lib/charges/list.ts'
import type { ChargeRequest } from '#lib/charges/schema.ts'
import type { ChargesQuery } from '#lib/charges/search.ts'
import { docSql, findChargeIds, indexCharges, indexLateCharges } from '#lib/charges/search.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newRoutableId } from '#lib/core/ids.ts'
import { normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { CHARGE, inOwnDatabase, makeMerchant, runAsOwner } from '#lib/testing/fixtures.ts'

inOwnDatabase()
afterAll(disconnect)

const inAMinute = () => Date.now() + 60_000
let merchant: Account
let names: Map<string, string>
let endToEndId: string

const openChargeWith = (extra: Partial<ChargeRequest>) =>
  createCharge(merchant, 'test', { ...CHARGE, ...extra }, null)

async function findNames(query: Partial<ChargesQuery>): Promise<string[]> {
  const { rows } = await listCharges(merchant.id, 'test', {
    limit: 20,
    ...query,
    matchesDocuments: true,
  })
  return rows.map(({ id }) => names.get(id) ?? id)
}

/** Adds more newer rows than a search scans, so that only the index finds the older charges. */
async function insertNewerCharges(rows: number): Promise<void> {
  await db().$executeRaw`
    INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code,
      client_name, client_email, client_doc, expires_at)
    SELECT ${merchant.id}::uuid, hex::uuid, 'test', 'pending', 700, hex, hex, 'x', 'Nobody',
      'nobody@example.net', '11144477735', now()
    FROM (SELECT '01ff' || substr(md5(n::text), 1, 8) || '7' || substr(md5(n::text), 1, 3) || '8'
      || substr(md5(n::text), 4, 15) AS hex FROM generate_series(1, ${rows}::int) n) made`
  // Replaces the statistics of a table of four rows, and with them the cached plans.
  await runAsOwner('ANALYZE charges, charge_searches')
}

beforeAll(async () => {
  merchant = await makeMerchant()
  const payers = {
    joao: {
      client_name: 'João da Conceição',
      client_email: 'jc@padaria.example',
      amount: 44_654,
    },
    plain: { client_name: 'JOAO PEREIRA', client_email: 'Pereira@Example.com' },
    odd: { client_name: 'Zoë 100%_Álvares \\ Cia', client_doc: '11.222.333/0001-81' },
    wide: { client_name: 'Ｌｏｊａ ％', external_id: 'Order-1', amount: 9_900 },
  }
  names = new Map()
  for (const [name, payer] of Object.entries(payers))
    names.set((await openChargeWith(payer)).id, name)
  const { id } = await openChargeWith({ client_name: 'Paga Souza', client_email: 'ps@example.net' })
  names.set(id, 'paid')
  endToEndId = (await simulateCharge(merchant.id, id, 'paid')).end_to_end_id ?? expect.unreachable()
})

const CASES: [string, string[]][] = [
  ['joao', ['plain', 'joao']],
  ['JOÃO', ['plain', 'joao']],
  ['conceicao', ['joao']],
  ['Conceição', ['joao']],
  ['pereira@example', ['plain']],
  ['loja', ['wide']],
  ['zo', ['odd']],
  ['%_', ['odd']],
  ['\\', ['odd']],
  ['%', ['wide', 'odd']],
  ['_o', []],
  ['11222333000181', ['odd']],
  ['11.222.333/0001-81', ['odd']],
  ['11222333', ['odd']],
  ['11.222', ['odd']],
  ['112', ['odd']],
  ['11', []],
  ['Order-1', ['wide']],
  ['order-1', ['wide']],
  ['rder', ['wide']],
  ['conceicao joão', ['joao']],
  ['con jo', ['joao']],
  ['joao pereira example', ['plain']],
  ['joao pereira conceicao', []],
  ['446,54', ['joao']],
  ['446.54', ['joao']],
  ['R$ 446,54', ['joao']],
  ['joao 446,54', ['joao']],
  ['pereira 446,54', []],
  ['46,54', []],
  ['99', ['wide']],
]

describe.each([
  ['before indexing', async () => {}],
  ['after indexing', async () => expect(await indexCharges(inAMinute())).toBe(0)],
  ['with the index alone', () => insertNewerCharges(2_100).then(() => indexCharges(inAMinute()))],
])('q, %s', (_when, prepare) => {
  beforeAll(prepare as () => Promise<void>)

  test.each(CASES)('%j finds %j', async (q, found) => {
    expect(await findNames({ q })).toEqual(found)
    const filters = { q, matchesDocuments: true }
    expect((await totalCharges(merchant.id, 'test', filters)).count).toBe(found.length)
  })

  test.each(['11222333000181', '112', '11.222'])(
    'the document %s is not found for callers who may not read documents',
    async q => {
      expect((await listCharges(merchant.id, 'test', { limit: 20, q })).rows).toEqual([])
      expect((await totalCharges(merchant.id, 'test', { q })).count).toBe(0)
    },
  )

  test('a paid charge is found by the end of its end-to-end id, of four characters or more', async () => {
    const tail = (length: number) => endToEndId.slice(-length)
    // At least one digit, without which the text is a word.
    const shortest = Math.max(4, endToEndId.length - endToEndId.search(/\d\D*$/))
    for (const q of [
      tail(shortest),
      tail(20).toLowerCase(),
      endToEndId,
      endToEndId.toLowerCase(),
    ]) {
      expect(await findNames({ q }), q).toEqual(['paid'])
      expect((await totalCharges(merchant.id, 'test', { q })).count, q).toBe(1)
    }
    expect(await findNames({ q: tail(3) })).toEqual([])
    expect(await findNames({ q: endToEndId.slice(0, -1) })).toEqual([])
  })

  test('other filters and the cursor apply within the results', async () => {
    const [plain, joao] = await listCharges(merchant.id, 'test', { limit: 20, q: 'joao' }).then(
      ({ rows }) => rows.map(({ id }) => id),
    )
    expect(await findNames({ q: 'joao', status: ['paid'] })).toEqual([])
    expect(await findNames({ q: 'loja', min_amount: 9_900, max_amount: 9_900 })).toEqual(['wide'])
    expect(await findNames({ q: 'loja', min_amount: 9_901 })).toEqual([])
    const first = await listCharges(merchant.id, 'test', { limit: 1, q: 'joao' })
    expect([first.rows[0]?.id, first.nextCursor]).toEqual([plain, plain])
    expect(await findNames({ q: 'joao', cursor: plain })).toEqual([names.get(joao ?? '')])
  })
})

test('charges of other accounts and modes are never found', async () => {
  const otherMerchant = await makeMerchant()
  for (const q of ['joao', 'Order-1', '11222333000181']) {
    expect(
      (await listCharges(otherMerchant.id, 'test', { limit: 5, q, matchesDocuments: true })).rows,
    ).toEqual([])
    expect(
      (await listCharges(merchant.id, 'live', { limit: 5, q, matchesDocuments: true })).rows,
    ).toEqual([])
  }
  const [id] = names.keys()
  expect(await findChargeIds(merchant.id, 'test', id ?? '')).toEqual([{ id }])
  expect(await findChargeIds(otherMerchant.id, 'test', id ?? '')).toEqual([])
})

test('a charge with an id behind the mark, made by a slow clock, is indexed later', async () => {
  await indexCharges(inAMinute())
  const later = newRoutableId(merchant.id, new Date(Date.now() + 60_000))
  await db().$executeRaw`UPDATE charge_search_marks SET id = ${later}::uuid`
  names.set((await openChargeWith({ client_name: 'Atrasada Sousa' })).id, 'late')
  expect(await indexLateCharges()).toBe(1)
  expect(await findNames({ q: 'atrasada' })).toEqual(['late'])
})

test('totals have count, amount and paid amount of the filtered charges', async () => {
  const totalsMerchant = await makeMerchant()
  const opened = await Promise.all(
    [1_000, 2_000, 3_000].map(amount =>
      createCharge(totalsMerchant, 'test', { ...CHARGE, amount }, null),
    ),
  )
  await simulateCharge(totalsMerchant.id, opened[1]?.id ?? '', 'paid')
  const total = (filters: object) => totalCharges(totalsMerchant.id, 'test', filters)
  expect(await total({})).toEqual({ count: 3, amount: 6_000, paid_amount: 2_000, is_exact: true })
  expect(await total({ status: 'pending' })).toMatchObject({ count: 2, paid_amount: 0 })
  expect(await total({ min_amount: 2_000 })).toMatchObject({ count: 2, amount: 5_000 })
  expect(await total({ max_amount: 999 })).toMatchObject({ count: 0, amount: 0 })
  expect(await total({ q: 'ana beatriz', status: 'paid' })).toMatchObject({ count: 1 })
})

test.each(['529.982.247-25', '52998224725', '12.abc.345/01de-35', '11 222 333/0001-81', '1./ -A'])(
  'SQL and TypeScript normalize the document %s alike',
  async text => {
    const [found] = await db().$queryRaw<{ doc: string }[]>`
      SELECT ${docSql('c')} AS doc FROM (SELECT ${text}::text AS client_doc) c`
    expect(found?.doc).toBe(normalizeTaxId(text))
  },
)
