/**
 * Text of a Pix QR code (BR Code): EMV merchant-presented mode in Banco Central's profile. By hand: pix-utils 2.8.2
 * wrote codes that cannot be read, and @brazilian-utils 2.4.0 has amounts in floating point and gives no reasons.
 */

const PIX = 'br.gov.bcb.pix'
const PIX_IDENTIFIER_FIELD = writeField('00', PIX)
const NO_TXID = '***'
const BRL = '986'
const NAME_MAX = 25
const CITY_MAX = 15
/** Maximum length of a location: 99 characters of a template minus 22 for identifier and header. */
const LOCATION_MAX = 77
const AMOUNT_CHARACTERS_MAX = 13

// A host with a dot, and a path. No scheme, port or user: wallets prepend https:// themselves.
const LOCATION =
  /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+(?:\/[\w.~!$&'()*+,;=:@%/?-]*)?$/i

interface Merchant {
  merchantName: string
  merchantCity: string
  /** Cents; if absent, the payer types the amount. */
  amount?: number
}

type StaticCodeInput = Merchant & { key: string; txid?: string; description?: string }
type DynamicCodeInput = Merchant & { location: string }

type Target = {
  description: string | null
  /** Location of the recurring payment (Pix Automático) that the code also contains. */
  recurrenceLocation: string | null
} & ({ kind: 'static'; key: string } | { kind: 'dynamic'; location: string })

type BrCode = Target & {
  /** Cents; null if the payer types the amount. */
  amount: number | null
  merchantName: string
  merchantCity: string
  txid: string | null
  postalCode: string | null
  /** Field 01; null if absent. */
  use: 'reusable' | 'once' | null
}

export type BrCodeError =
  | 'characters' // outside printable ASCII
  | 'checksum' // mistyped or truncated: copying the code again can fix it
  | 'structure' // valid checksum, but field lengths do not add up or a field is repeated
  | 'missing' // a mandatory field is absent
  | 'currency'
  | 'country'
  | 'arrangement' // none or several of the fields 26–51 are Pix
  | 'target' // both key and location, or neither
  | 'unsupported' // a recurring payment without a charge
  | 'location'
  | 'amount'

type BrCodeReading = { ok: true; code: BrCode } | { ok: false; error: BrCodeError }

/** Builds a static code. Throws a RangeError for values that some wallets could not read. */
export function buildStaticCode(input: StaticCodeInput): string {
  const { key, txid, description } = input
  if (!/^[!-~]{1,77}$/.test(key))
    throw new RangeError('key must be 1 to 77 printable ASCII characters without spaces')
  if (txid !== undefined && !/^[A-Za-z0-9]{1,25}$/.test(txid))
    throw new RangeError('txid must be 1 to 25 letters and digits')
  const foldedDescription = description === undefined ? undefined : foldText(description)
  if (foldedDescription === '') throw new RangeError('description has no printable ASCII')
  const account = PIX_IDENTIFIER_FIELD + writeField('01', key)
  const descriptionMax = Math.max(0, 99 - account.length - 4)
  if (foldedDescription !== undefined && foldedDescription.length > descriptionMax)
    throw new RangeError(`description is longer than the ${descriptionMax} beside this key`)
  const rest = foldedDescription === undefined ? '' : writeField('02', foldedDescription)
  return assembleCode('', account + rest, input, txid ?? NO_TXID)
}

/** Builds a dynamic code. Payers can pay it only if a bank serves the charge at the location. */
export function buildDynamicCode(input: DynamicCodeInput): string {
  const { location } = input
  if (!isLocation(location) || !location.includes('/'))
    throw new RangeError(`location must be host/path of at most ${LOCATION_MAX}, without a scheme`)
  const account = PIX_IDENTIFIER_FIELD + writeField('25', location)
  return assembleCode(writeField('01', '12'), account, input, NO_TXID)
}

function assembleCode(
  initiation: string,
  account: string,
  merchant: Merchant,
  txid: string,
): string {
  const { merchantName, merchantCity, amount } = merchant
  const name = foldText(merchantName, NAME_MAX)
  const city = foldText(merchantCity, CITY_MAX)
  if (name === '') throw new RangeError('merchantName has no printable ASCII')
  if (city === '') throw new RangeError('merchantCity has no printable ASCII')
  const body =
    writeField('00', '01') +
    initiation +
    writeField('26', account) +
    writeField('52', '0000') +
    writeField('53', BRL) +
    (amount === undefined ? '' : writeField('54', formatAmount(amount))) +
    writeField('58', 'BR') +
    writeField('59', name) +
    writeField('60', city) +
    writeField('62', writeField('05', txid))
  return `${body}6304${crc16(`${body}6304`)}`
}

function formatAmount(amount: number): string {
  if (!Number.isSafeInteger(amount) || amount <= 0)
    throw new RangeError('amount must be a positive whole number of cents')
  const cents = amount % 100
  const text = `${(amount - cents) / 100}.${String(cents).padStart(2, '0')}`
  if (text.length > AMOUNT_CHARACTERS_MAX) throw new RangeError('amount is too large for field 54')
  return text
}

/** Parses a code of any issuer. Lenient, but refuses a code that could be read in two ways. */
export function parseBrCode(text: string): BrCodeReading {
  const fields = parseFields(text)
  if (typeof fields === 'string') return { ok: false, error: fields }
  const target = readTarget(fields)
  if (typeof target === 'string') return { ok: false, error: target }
  const amount = readAmount(fields.get('54'))
  if (amount === undefined) return { ok: false, error: 'amount' }
  const additional = readFields(fields.get('62') ?? '')
  if (!additional) return { ok: false, error: 'structure' }
  const txid = additional.get('05') ?? NO_TXID
  const initiation = fields.get('01')
  const code: BrCode = {
    ...target,
    amount,
    merchantName: fields.get('59') ?? '',
    merchantCity: fields.get('60') ?? '',
    txid: txid === NO_TXID ? null : txid,
    postalCode: fields.get('61') ?? null,
    use: initiation === undefined ? null : initiation === '12' ? 'once' : 'reusable',
  }
  return { ok: true, code }
}

// Verifies the checksum first, so that a mistyped character is always reported as `checksum`.
function parseFields(text: string): Fields | BrCodeError {
  if (/[^ -~]/.test(text)) return 'characters'
  if (!/6304[0-9A-F]{4}$/i.test(text)) return 'checksum'
  if (crc16(text.slice(0, -4)) !== text.slice(-4).toUpperCase()) return 'checksum'
  const fields = readFields(text)
  if (!fields || !text.startsWith('000201') || [...fields.keys()].at(-1) !== '63')
    return 'structure'
  if (!['11', '12', undefined].includes(fields.get('01'))) return 'structure'
  if (['52', '53', '58', '59', '60'].some(id => !fields.has(id))) return 'missing'
  if (fields.get('53') !== BRL) return 'currency'
  return fields.get('58') === 'BR' ? fields : 'country'
}

function readTarget(fields: Fields): Target | BrCodeError {
  const accounts = findPixTemplates(fields, 26, 51)
  const recurrences = findPixTemplates(fields, 80, 99)
  if (!accounts || !recurrences || recurrences.length > 1) return 'structure'
  const [account] = accounts
  if (!account || accounts.length > 1) return 'arrangement'
  const recurrenceLocation = recurrences[0]?.get('25') ?? null
  if (recurrenceLocation !== null && !isLocation(recurrenceLocation)) return 'location'
  const key = account.get('01')
  const location = account.get('25')
  const shared = { description: account.get('02') ?? null, recurrenceLocation }
  if (key !== undefined && location !== undefined) return 'target'
  if (key !== undefined) return { kind: 'static', key, ...shared }
  if (location === undefined) return recurrenceLocation === null ? 'target' : 'unsupported'
  return isLocation(location) ? { kind: 'dynamic', location, ...shared } : 'location'
}

/** Returns the Pix templates, ignoring other schemes; null if one cannot be parsed. */
function findPixTemplates(fields: Fields, first: number, last: number): Fields[] | null {
  const templates: Fields[] = []
  for (const [id, value] of fields) {
    if (Number(id) < first || Number(id) > last) continue
    const template = readFields(value)
    if (template?.get('00')?.toLowerCase() === PIX) templates.push(template)
    else if (!template && value.toLowerCase().includes(PIX_IDENTIFIER_FIELD)) return null
  }
  return templates
}

/** Null if the payer types the amount (absent, or 0 for Pix Saque); undefined if invalid. */
function readAmount(text: string | undefined): number | null | undefined {
  if (text === undefined) return null
  const [, whole, decimals = ''] = /^(\d+)(?:\.(\d{0,2}))?$/.exec(text) ?? []
  if (whole === undefined || text.length > AMOUNT_CHARACTERS_MAX) return undefined
  return Number(whole) * 100 + Number(decimals.padEnd(2, '0')) || null
}

function isLocation(text: string): boolean {
  return text.length <= LOCATION_MAX && LOCATION.test(text)
}

/** EMV fields: two digits of id, two digits of length (01–99), then the value. */

type Fields = Map<string, string>

export function writeField(id: string, value: string): string {
  return id + String(value.length).padStart(2, '0') + value
}

/** Parses fields in order. Null if a length does not fit the text or an id is repeated. */
export function readFields(text: string): Fields | null {
  const fields: Fields = new Map()
  for (let position = 0; position < text.length; ) {
    const [header, id, length] = /^(\d\d)(\d\d)/.exec(text.slice(position, position + 4)) ?? []
    const value = text.slice(position + 4, position + 4 + Number(length))
    if (!header || !id || value === '' || value.length !== Number(length)) return null
    if (fields.has(id)) return null
    fields.set(id, value)
    position += 4 + value.length
  }
  return fields
}

/** Folds to printable ASCII, so that a field has as many bytes as characters. */
export function foldText(text: string, max = Number.POSITIVE_INFINITY): string {
  const plain = text
    .normalize('NFD')
    .replace(/\s/g, ' ')
    .replace(/[^ -~]/g, '')
  return plain.replace(/ +/g, ' ').trim().slice(0, max).trim()
}

/** Returns CRC-16/CCITT-FALSE of the UTF-8 bytes as four upper-case hexadecimal digits. */
export function crc16(text: string): string {
  let crc = 0xffff
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff
  }
  return crc.toString(16).toUpperCase().padStart(4, '0')
}
