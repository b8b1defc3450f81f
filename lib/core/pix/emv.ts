/** EMV fields: two digits of id, two digits of length (01–99), then the value. */

export type Fields = Map<string, string>

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
