import { plainAmount } from '#lib/base/csv.ts'
import type { Mode } from '#lib/base/mode.ts'
import { foldText } from '#lib/base/pix/br-code.ts'
import type { StatementRow } from '#lib/views/dashboard/schema.ts'

/**
 * OFX 1.0.2, what Brazilian banks hand out and accounting programs import. Every element is closed,
 * which SGML allows, and all is ASCII, so that it reads the same whatever encoding a program assumes.
 */
interface Book {
  accountId: string
  mode: Mode
  timeZone: string
  from?: Date
  /** The last moment that it tells of. */
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

export function ofxHead({ accountId, mode, timeZone, from, last }: Book): string {
  const header = Object.entries(HEADER).map(([name, value]) => `${name}:${value}\r\n`)
  const time = ofxTime(last, timeZone)
  const status = '<STATUS><CODE>0</CODE><SEVERITY>INFO</SEVERITY></STATUS>'
  return `${header.join('')}\r\n${[
    '<OFX>',
    `<SIGNONMSGSRSV1><SONRS>${status}<DTSERVER>${time}</DTSERVER><LANGUAGE>POR</LANGUAGE>`,
    '<FI><ORG>Troco</ORG></FI></SONRS></SIGNONMSGSRSV1>',
    `<BANKMSGSRSV1><STMTTRNRS><TRNUID>0</TRNUID>${status}<STMTRS><CURDEF>BRL</CURDEF>`,
    // Nobody's bank: the book is ours, one per account and mode.
    `<BANKACCTFROM><BANKID>0</BANKID><ACCTID>${mode}-${accountId.slice(-12)}</ACCTID>`,
    '<ACCTTYPE>CHECKING</ACCTTYPE></BANKACCTFROM>',
    `<BANKTRANLIST><DTSTART>${ofxTime(from ?? BEFORE_PIX, timeZone)}</DTSTART>`,
    `<DTEND>${time}</DTEND>`,
    '',
  ].join('\r\n')}`
}

/** One movement. Its FITID is that of the ledger's transfer: the same in every file that holds it. */
export function ofxLine(row: StatementRow, memo: string, timeZone: string): string {
  const { kind, subject_id, amount, created_at } = row
  return [
    `<STMTTRN><TRNTYPE>${amount > 0 ? 'CREDIT' : 'DEBIT'}</TRNTYPE>`,
    `<DTPOSTED>${ofxTime(new Date(created_at), timeZone)}</DTPOSTED>`,
    `<TRNAMT>${plainAmount(amount)}</TRNAMT>`,
    `<FITID>${kind}.${subject_id}</FITID>`,
    `<MEMO>${ofxText(memo)}</MEMO></STMTTRN>\r\n`,
  ].join('')
}

export function ofxEnd({ closing, last, timeZone }: Book): string {
  return [
    '</BANKTRANLIST>',
    `<LEDGERBAL><BALAMT>${plainAmount(closing)}</BALAMT>`,
    `<DTASOF>${ofxTime(last, timeZone)}</DTASOF></LEDGERBAL>`,
    '</STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>',
    '',
  ].join('\r\n')
}

/** Folded to ASCII first, so that nothing folds into a sign that has a meaning. */
export function ofxText(text: string): string {
  const plain = foldText(text, MEMO_MAX) || '-'
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** The time on the merchant's clock, and how far that stands from UTC: 20261121103000[-3:BRT]. */
export function ofxTime(moment: Date, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en-US', {
    ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
    ...{ hourCycle: 'h23', timeZoneName: 'longOffset', timeZone },
  }).formatToParts(moment)
  const part = (type: string) => parts.find(one => one.type === type)?.value ?? ''
  const digits = ['year', 'month', 'day', 'hour', 'minute', 'second'].map(part).join('')
  const [, sign = '+', hours = '0', minutes = '00'] =
    /([+-])(\d\d):(\d\d)/.exec(part('timeZoneName')) ?? []
  const offset = `${sign}${Number(hours)}${minutes === '00' ? '' : `.${minutes}`}`
  return `${digits}[${offset}:${offset === '-3' ? 'BRT' : 'GMT'}]`
}
