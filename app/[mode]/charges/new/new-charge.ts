import { parseReais } from '#lib/core/money.ts'

/** Length of each unit in seconds, in the order of the select. */
export const UNIT_SECONDS = { minutes: 60, hours: 3_600, days: 86_400 } as const
export type Unit = keyof typeof UNIT_SECONDS

/** Expiry times offered besides the account's default, in seconds. */
export const EXPIRY_CHOICES = [900, 3_600, 86_400, 604_800, 2_592_000]

/** Expresses seconds in the largest unit that divides them. */
export function toLargestUnit(seconds: number): { count: number; unit: Unit | 'seconds' } {
  const units = Object.entries(UNIT_SECONDS).reverse() as [Unit, number][]
  const match = units.find(([, length]) => seconds % length === 0)
  return match ? { unit: match[0], count: seconds / match[1] } : { unit: 'seconds', count: seconds }
}

export const ROW_LISTS = ['items', 'metadata'] as const
export type RowList = (typeof ROW_LISTS)[number]

/** Returns the name of an input in a row, such as `items.1.price`. */
export function rowFieldName(list: RowList, id: number, part: string): string {
  return `${list}.${id}.${part}`
}

/** Returns the ids of the rows to which inputs of these names belong. */
export function listRowIds(
  list: RowList,
  fields: readonly [name: string, value: string][],
): number[] {
  const parts = fields.map(([name]) => name.split('.')).filter(([start]) => start === list)
  return [...new Set(parts.map(([, id]) => Number(id)))]
}

/** Builds the request body from the form; an empty field is undefined. */
export function readChargeForm(
  data: FormData,
  locale: string,
  itemIds: number[],
  metadataIds: number[],
) {
  const readField = (name: string) => String(data.get(name) ?? '').trim() || undefined
  const amount = readField('amount')
  return {
    amount: amount && (parseReais(amount, locale) ?? amount),
    client_name: readField('client_name'),
    client_email: readField('client_email'),
    client_doc: readField('client_doc'),
    client_phone: readField('client_phone'),
    external_id: readField('external_id'),
    expires_in: readExpiry(readField),
    webhook_url: readField('webhook_url'),
    items: readItems(readField, locale, itemIds),
    metadata: readMetadata(readField, metadataIds),
  }
}

type ReadField = (name: string) => string | undefined

function readExpiry(readField: ReadField): number | undefined {
  const chosen = readField('expires_in')
  if (chosen !== 'custom') return Number(chosen)
  const length = UNIT_SECONDS[(readField('expiry_unit') ?? 'minutes') as Unit]
  // An invalid number becomes 0, which the schema refuses as too short.
  return Math.round(Number(readField('expiry_count')?.replace(',', '.') ?? 0) * length) || 0
}

function readItems(
  readField: ReadField,
  locale: string,
  ids: number[],
): Record<string, unknown>[] | undefined {
  const items = ids.flatMap(id => {
    const readPart = (name: string) => readField(rowFieldName('items', id, name))
    const [name, quantity, price] = [readPart('name'), readPart('quantity'), readPart('price')]
    if (!name && !price) return []
    const quantityNumber = Number(quantity?.replace(',', '.'))
    return [
      {
        ...(name ? { name } : {}),
        ...(quantity
          ? { quantity: Number.isFinite(quantityNumber) ? quantityNumber : quantity }
          : {}),
        ...(price ? { price: parseReais(price, locale) ?? `? ${price}` } : {}),
      },
    ]
  })
  return items.length > 0 ? items : undefined
}

/** Returns a string, which the schema refuses, if a key is missing or repeated. */
function readMetadata(
  readField: ReadField,
  ids: number[],
): Record<string, string> | string | undefined {
  const entries = ids.flatMap(id => {
    const [key, value] = ['key', 'value'].map(part => readField(rowFieldName('metadata', id, part)))
    return key || value ? [[key ?? '', value ?? ''] as const] : []
  })
  if (entries.length === 0) return undefined
  const keys = new Set(entries.map(([key]) => key))
  if (keys.size < entries.length || keys.has('')) return 'ambiguous'
  return Object.fromEntries(entries)
}

/** Returns the sum of the items in cents; null if no item has a valid price. */
export function sumItems(data: FormData, locale: string, ids: number[]): number | null {
  const subtotals = ids.flatMap(id => {
    const price = parseReais(String(data.get(rowFieldName('items', id, 'price')) ?? ''), locale)
    const quantity = String(data.get(rowFieldName('items', id, 'quantity')) ?? '').trim() || '1'
    return price === null ? [] : [price * Number(quantity.replace(',', '.'))]
  })
  const sum = Math.round(subtotals.reduce((total, subtotal) => total + subtotal, 0))
  return subtotals.length > 0 && Number.isFinite(sum) ? sum : null
}
