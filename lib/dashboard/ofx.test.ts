import { expect, test } from 'vitest'
import type { StatementRow } from '#lib/dashboard/schema.ts'
import { ofxEnd, ofxHead, ofxLine, ofxText, ofxTime } from '#lib/dashboard/statement-export.ts'

const MOMENT = new Date('2026-11-21T02:30:05Z')

test.each([
  ['America/Sao_Paulo', '20261120233005[-3:BRT]'],
  ['America/Manaus', '20261120223005[-4:GMT]'],
  ['UTC', '20261121023005[+0:GMT]'],
  ['Asia/Kathmandu', '20261121081505[+5.45:GMT]'],
])('a time is written in the time zone %s', (zone, text) => {
  expect(ofxTime(MOMENT, zone)).toBe(text)
})

test('texts are ASCII, at most 255 characters, and escaped', () => {
  expect(ofxText('João & <Filhos> 🦊')).toBe('Joao &amp; &lt;Filhos&gt;')
  expect(ofxText('\u0000\n')).toBe('-')
  expect(ofxText('x'.repeat(300))).toHaveLength(255)
})

test('a file contains each movement once, with closed elements and the final balance', () => {
  const row: StatementRow = {
    version: 7,
    kind: 'withdrawal_held',
    subject_id: '01a1fbb9-7fa1-7c33-8f6a-2f1f5a0e9c41',
    amount: -123_405,
    balance_after: 5,
    created_at: MOMENT.toISOString(),
    charge_id: null,
    withdrawal_id: null,
    client_name: null,
    external_id: 'payout-1',
    pix_key_type: 'email',
    dict_key: 'ana@example.com',
  }
  const statement = {
    accountId: '01a1fbb9-7fa1-7c33-8f6a-2f1f5a0e9c42',
    mode: 'test' as const,
    timeZone: 'America/Sao_Paulo',
    last: MOMENT,
    closing: 5,
  }
  const text =
    ofxHead(statement) + ofxLine(row, 'Saque - payout-1', statement.timeZone) + ofxEnd(statement)
  expect(text).toMatch(/^OFXHEADER:100\r\nDATA:OFXSGML\r\nVERSION:102\r\n/)
  expect(text).toContain(
    '<STMTTRN><TRNTYPE>DEBIT</TRNTYPE><DTPOSTED>20261120233005[-3:BRT]</DTPOSTED>' +
      '<TRNAMT>-1234.05</TRNAMT><FITID>withdrawal_held.01a1fbb9-7fa1-7c33-8f6a-2f1f5a0e9c41</FITID>' +
      '<MEMO>Saque - payout-1</MEMO></STMTTRN>',
  )
  expect(text).toContain('<LEDGERBAL><BALAMT>0.05</BALAMT>\r\n<DTASOF>20261120233005[-3:BRT]')
  const open: string[] = []
  for (const [, slash, name] of text.matchAll(/<(\/?)([A-Z0-9]+)>/g)) {
    if (slash) expect(open.pop()).toBe(name)
    else open.push(name ?? '')
  }
  expect(open).toEqual([])
})
