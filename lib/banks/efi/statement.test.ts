import { expect, test } from 'vitest'
import { readStatementFile } from '#lib/banks/efi/statement.ts'

const DAY = '2026-11-20'
const AT = '2026-11-20T15:00:00.000Z'
const HEAD = `CA;Banco;364;1;517613;Loja;2026-11-21;${DAY};Extrato de Conciliação API Pix;1.0`
const BALANCES = ['SD0;10.00;2026-11-19', `SD1;19.00;${DAY}`]
const PAYMENT = `PR;1;E1;tx1;9.00;12345678908;;;${AT}`
const fileOf = (...records: string[]) => [HEAD, ...records, ''].join('\n')

/** Reads a file of these records and balances, whose last line counts the records. */
function read(records: string[], balances = BALANCES, count: unknown = records.length) {
  const result = readStatementFile(fileOf(...balances, ...records, `T;${count}`), DAY)
  return result.state === 'ready' ? result.statement : expect.unreachable(result.state)
}

const none = { endToEndId: null, returnId: null, txid: null, orderId: null }

test.each<[string, string, number, object]>([
  [PAYMENT, 'payment', 900, { endToEndId: 'E1', txid: 'tx1' }],
  [`TPR;1;E1;0.11;${AT}`, 'payment_fee', -11, { endToEndId: 'E1' }],
  [`ETPR;1;E1;0.11;${AT}`, 'payment_fee_reversal', 11, { endToEndId: 'E1' }],
  [
    `PDE;1;E1;;r1;D1;4.00;${AT}`,
    'refund',
    -400,
    { endToEndId: 'E1', orderId: 'r1', returnId: 'D1' },
  ],
  [`PEC;1;E2;p1;9.00;a@b.co;;API;${AT}`, 'payout', -900, { endToEndId: 'E2', orderId: 'p1' }],
  [
    `PEB;1;E2;p1;9.00;Ana;12345678908;99999999;1;123453;cacc;;API;${AT}`,
    'payout',
    -900,
    { endToEndId: 'E2', orderId: 'p1' },
  ],
  [`EPE;1;E2;9.00;${AT}`, 'payout_reversal', 900, { endToEndId: 'E2' }],
  [`PDR;1;E2;D2;3.00;${AT}`, 'payout_return', 300, { endToEndId: 'E2', returnId: 'D2' }],
  [`TPE;1;E2;0.50;${AT}`, 'payout_fee', -50, { endToEndId: 'E2' }],
  [
    `TPE;1;E2;tx1;r1;D1;0.50;${AT}`,
    'payout_fee',
    -50,
    { ...none, endToEndId: 'E2', txid: 'tx1', orderId: 'r1' },
  ],
  [`ETPE;1;E2;0.50;${AT}`, 'payout_fee_reversal', 50, { endToEndId: 'E2' }],
  [`TFR;1;77;21.50;ZGU=;${AT}`, 'transfer_received', 2_150, { orderId: '77' }],
  [`TFE;1;78;31.50;;${AT}`, 'transfer_sent', -3_150, { orderId: '78' }],
  [`TFE;1;78;31.50;${AT}`, 'transfer_sent', -3_150, { orderId: '78' }],
  [`ETFE;1;78;31.50;${AT}`, 'transfer_reversal', 3_150, { orderId: '78' }],
  [`TTFE;1;78;5.55;${AT}`, 'transfer_fee', -555, { orderId: '78' }],
  [`ETTFE;1;78;5.55;${AT}`, 'transfer_fee_reversal', 555, { orderId: '78' }],
])('the record %s is a %s of %i', (record, kind, amount, ids) => {
  const { entries, unread } = read([record])
  const returnId = record.includes(';D1;') ? 'D1' : record.includes(';D2;') ? 'D2' : null
  expect(entries).toEqual([{ kind, amount, at: new Date(AT), ...none, ...ids, returnId }])
  expect(unread).toEqual([])
})

test.each([
  ['of an unknown type', `PZ;1;E1;tx1;9.00;12345678908;;;${AT}`],
  ['named as a part of an object', `constructor;1;E1;9.00;${AT}`],
  ['with a column more', `PR;1;E1;tx1;9.00;12345678908;;;;${AT}`],
  ['with a column less', `PR;1;E1;9.00;12345678908;;;${AT}`],
  ['whose amount has no decimals', `PR;1;E1;tx1;900;12345678908;;;${AT}`],
  ['whose amount is negative', `PR;1;E1;tx1;-9.00;12345678908;;;${AT}`],
  ['without an amount', `PR;1;E1;tx1;;12345678908;;;${AT}`],
  ['without a time', 'PR;1;E1;tx1;9.00;12345678908;;;20261120150000'],
])('a record %s is returned as it came, and stops no other', (_, record) => {
  const statement = read([PAYMENT, record])
  expect(statement).toMatchObject({ unread: [record], missing: 0, difference: 0 })
  expect(statement.entries).toHaveLength(1)
})

test('the balances and the entries must agree', () => {
  const fee = `TPR;1;E1;0.11;${AT}`
  expect(read([PAYMENT])).toMatchObject({ opening: 1_000, closing: 1_900, difference: 0 })
  expect(read([PAYMENT, fee])).toMatchObject({ difference: 11 })
  expect(read([fee])).toMatchObject({ difference: 911 })
  const negative = ['SD0;-1.00;2026-11-19', `SD1;8.00;${DAY}`]
  expect(read([PAYMENT], negative)).toMatchObject({ opening: -100, difference: 0 })
})

test.each([
  ['without balances', [], []],
  ['with one', BALANCES.slice(0, 1), []],
  ['with one that cannot be read', ['SD0;10;2026-11-19', BALANCES[1] ?? ''], ['SD0;10;2026-11-19']],
])('%s, no difference is known', (_, balances, unread) => {
  expect(read([PAYMENT], balances)).toMatchObject({ difference: null, missing: 0, unread })
})

test('a second balance of the same kind is not read', () => {
  const second = `SD1;10.00;${DAY}`
  expect(read([PAYMENT], [...BALANCES, second])).toMatchObject({ closing: 1_900, unread: [second] })
})

test('records that the bank counts and did not send are missing', () => {
  expect(read([PAYMENT], BALANCES, 3)).toMatchObject({ missing: 2 })
  expect(read([PAYMENT], BALANCES, 0)).toMatchObject({ missing: -1 })
})

test.each([
  ['empty', '', 'empty'],
  ['of blank lines', '\n \n', 'empty'],
  ['of another version', fileOf(PAYMENT, 'T;1').replace(';1.0\n', ';1.1\n'), 'layout'],
  ['that is a page', '<html><body>Manutenção</body></html>', 'layout'],
  ['without its first line', `${PAYMENT}\nT;1\n`, 'layout'],
  ['of another day', fileOf(PAYMENT, 'T;1').replace(`;${DAY};`, ';2026-11-19;'), 'day'],
  ['without its last line', fileOf(PAYMENT), 'cut'],
  ['that ends within its last line', fileOf(PAYMENT, 'T;'), 'cut'],
  ['that is only a first line', fileOf(), 'cut'],
])('a file %s is not read', (_, file, flaw) => {
  expect(readStatementFile(file, DAY)).toEqual({ state: 'unreadable', flaw })
})

test('line ends of Windows, blank lines and a mark of the encoding make no difference', () => {
  const plain = fileOf(...BALANCES, PAYMENT, 'T;1')
  const other = `\uFEFF${plain.replaceAll('\n', '\r\n\r\n')}`
  expect(readStatementFile(other, DAY)).toEqual(readStatementFile(plain, DAY))
})

test("an owner's name with a semicolon does not move the columns that are read", () => {
  const file = fileOf(PAYMENT, 'T;1').replace(';Loja;', ';Loja; Filial;')
  expect(readStatementFile(file, DAY)).toMatchObject({ state: 'ready' })
})
