import { parseReais } from '#lib/base/money.ts'

/** Length of each unit in seconds, in the order of the select. */
export const UNIT_SECONDS = { minutes: 60, hours: 3_600, days: 86_400 } as const
export type Unit = keyof typeof UNIT_SECONDS

/** Expiry times offered besides the account's default, in seconds. */
export const EXPIRY_CHOICES = [900, 3_600, 86_400, 604_800, 2_592_000]

/** Expresses seconds in the largest unit that divides them. */
export function toLargestUnit(seconds: number): { count: number; unit: Unit | 'seconds' } {
  const units = Object.entries(UNIT_SECONDS).reverse() as [Unit, number][]
  const found = units.find(([, length]) => seconds % length === 0)
  return found ? { unit: found[0], count: seconds / found[1] } : { unit: 'seconds', count: seconds }
}

/** Returns the name of an input in a row, such as `items.1.price`. */
export function rowFieldName(list: 'items' | 'metadata', id: number, part: string): string {
  return `${list}.${id}.${part}`
}

/** Builds the request body from the form; an empty field is undefined. */
export function readCharge(data: FormData, itemIds: number[], metadataIds: number[]) {
  const text = (name: string) => String(data.get(name) ?? '').trim() || undefined
  const amount = text('amount')
  return {
    amount: amount && (parseReais(amount) ?? amount),
    client_name: text('client_name'),
    client_email: text('client_email'),
    client_doc: text('client_doc'),
    client_phone: text('client_phone'),
    external_id: text('external_id'),
    expires_in: readExpiry(text),
    webhook_url: text('webhook_url'),
    items: readItems(text, itemIds),
    metadata: readMetadata(text, metadataIds),
  }
}

type ReadField = (name: string) => string | undefined

function readExpiry(text: ReadField): number | undefined {
  const chosen = text('expires_in')
  if (chosen !== 'custom') return Number(chosen)
  const length = UNIT_SECONDS[(text('expiry_unit') ?? 'minutes') as Unit]
  // An invalid number becomes 0, which the schema refuses as too short.
  return Math.round(Number(text('expiry_count')?.replace(',', '.') ?? 0) * length) || 0
}

function readItems(text: ReadField, ids: number[]): Record<string, unknown>[] | undefined {
  const items = ids.flatMap(id => {
    const part = (name: string) => text(rowFieldName('items', id, name))
    const [name, quantity, price] = [part('name'), part('quantity'), part('price')]
    if (!name && !price) return []
    const count = Number(quantity?.replace(',', '.'))
    return [
      {
        ...(name ? { name } : {}),
        ...(quantity ? { quantity: Number.isFinite(count) ? count : quantity } : {}),
        ...(price ? { price: parseReais(price) ?? `? ${price}` } : {}),
      },
    ]
  })
  return items.length > 0 ? items : undefined
}

/** Returns a string, which the schema refuses, if a key is missing or repeated. */
function readMetadata(text: ReadField, ids: number[]): Record<string, string> | string | undefined {
  const entries = ids.flatMap(id => {
    const [key, value] = ['key', 'value'].map(part => text(rowFieldName('metadata', id, part)))
    return key || value ? [[key ?? '', value ?? ''] as const] : []
  })
  if (entries.length === 0) return undefined
  const keys = new Set(entries.map(([key]) => key))
  if (keys.size < entries.length || keys.has('')) return 'ambiguous'
  return Object.fromEntries(entries)
}

/** Returns the sum of the items in cents; null if no item has a valid price. */
export function sumItems(data: FormData, ids: number[]): number | null {
  const parts = ids.flatMap(id => {
    const price = parseReais(String(data.get(rowFieldName('items', id, 'price')) ?? ''))
    const quantity = String(data.get(rowFieldName('items', id, 'quantity')) ?? '').trim() || '1'
    return price === null ? [] : [price * Number(quantity.replace(',', '.'))]
  })
  const sum = Math.round(parts.reduce((total, part) => total + part, 0))
  return parts.length > 0 && Number.isFinite(sum) ? sum : null
}
