import { dateFormat } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { foldText } from '#lib/core/pix/br-code.ts'
import type { StatementRow } from '#lib/dashboard/schema.ts'

/**
 * OFX 1.0.2, which Brazilian banks export and accounting programs import. Closes every element, as
 * SGML allows; all text is ASCII, so that the assumed encoding does not matter.
 */
interface OfxStatement {
  accountId: string
  mode: Mode
  timeZone: string
  from?: Date
  last: Date
  closing: number
}

const HEADER = {
  OFXHEADER: '100',
  DATA: 'OFXSGML',
  VERSION: '102',
  SECURITY: 'NONE',
  ENCODING: 'USASCII',
  CHARSET: '1252',
  COMPRESSION: 'NONE',
  OLDFILEUID: 'NONE',
  NEWFILEUID: 'NONE',
}
const MEMO_MAX = 255
const BEFORE_PIX = new Date('2020-01-01T12:00:00Z')

export function ofxHead({ accountId, mode, timeZone, from, last }: OfxStatement): string {
  const header = Object.entries(HEADER).map(([name, value]) => `${name}:${value}\r\n`)
  const time = ofxTime(last, timeZone)
  const status = '<STATUS><CODE>0</CODE><SEVERITY>INFO</SEVERITY></STATUS>'
  return `${header.join('')}\r\n${[
    '<OFX>',
    `<SIGNONMSGSRSV1><SONRS>${status}<DTSERVER>${time}</DTSERVER><LANGUAGE>POR</LANGUAGE>`,
    '<FI><ORG>Troco</ORG></FI></SONRS></SIGNONMSGSRSV1>',
    `<BANKMSGSRSV1><STMTTRNRS><TRNUID>0</TRNUID>${status}<STMTRS><CURDEF>BRL</CURDEF>`,
    // BANKID is 0, because the ledger is not at a bank. Each account and mode has its own ACCTID.
    `<BANKACCTFROM><BANKID>0</BANKID><ACCTID>${mode}-${accountId.slice(-12)}</ACCTID>`,
    '<ACCTTYPE>CHECKING</ACCTTYPE></BANKACCTFROM>',
    `<BANKTRANLIST><DTSTART>${ofxTime(from ?? BEFORE_PIX, timeZone)}</DTSTART>`,
    `<DTEND>${time}</DTEND>`,
    '',
  ].join('\r\n')}`
}

/** Formats one movement. FITID identifies the ledger transfer: the same in every file. */
export function ofxLine(row: StatementRow, memo: string, timeZone: string): string {
  const { kind, subject_id, amount, created_at } = row
  return [
    `<STMTTRN><TRNTYPE>${amount > 0 ? 'CREDIT' : 'DEBIT'}</TRNTYPE>`,
    `<DTPOSTED>${ofxTime(new Date(created_at), timeZone)}</DTPOSTED>`,
    `<TRNAMT>${formatDecimalAmount(amount)}</TRNAMT>`,
    `<FITID>${kind}.${subject_id}</FITID>`,
    `<MEMO>${ofxText(memo)}</MEMO></STMTTRN>\r\n`,
  ].join('')
}

export function ofxEnd({ closing, last, timeZone }: OfxStatement): string {
  return [
    '</BANKTRANLIST>',
    `<LEDGERBAL><BALAMT>${formatDecimalAmount(closing)}</BALAMT>`,
    `<DTASOF>${ofxTime(last, timeZone)}</DTASOF></LEDGERBAL>`,
    '</STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>',
    '',
  ].join('\r\n')
}

/** Folds to ASCII before escaping, so that folding cannot produce a special character. */
export function ofxText(text: string): string {
  const plain = foldText(text, MEMO_MAX) || '-'
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Formats the merchant's local time with its UTC offset: 20261121103000[-3:BRT]. */
export function ofxTime(moment: Date, timeZone: string): string {
  const parts = dateFormat('en-US', {
    ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
    ...{ hourCycle: 'h23', timeZoneName: 'longOffset', timeZone },
  }).formatToParts(moment)
  const part = (type: string) => parts.find(item => item.type === type)?.value ?? ''
  const digits = ['year', 'month', 'day', 'hour', 'minute', 'second'].map(part).join('')
  const [, sign = '+', hours = '0', minutes = '00'] =
    /([+-])(\d\d):(\d\d)/.exec(part('timeZoneName')) ?? []
  const offset = `${sign}${Number(hours)}${minutes === '00' ? '' : `.${minutes}`}`
  return `${digits}[${offset}:${offset === '-3' ? 'BRT' : 'GMT'}]`
}
