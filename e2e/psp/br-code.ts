const GUI = 'br.gov.bcb.pix'

/** Builds the BR Code of a charge, whose payload a payer's bank would read at `location`. */
export function buildDynamicCode(location: string, name: string, city: string): string {
  return withChecksum(
    [
      field('00', '01'),
      field('01', '12'),
      field('26', field('00', GUI) + field('25', location)),
      ...receiverFields(name, city),
    ].join(''),
  )
}

function receiverFields(name: string, city: string): string[] {
  return [
    field('52', '0000'),
    field('53', '986'),
    field('58', 'BR'),
    field('59', toPlainText(name, 25)),
    field('60', toPlainText(city, 15)),
    field('62', field('05', '***')),
  ]
}

function field(id: string, value: string): string {
  if (value.length > 99) throw new RangeError(`Field ${id} has ${value.length} characters`)
  return id + String(value.length).padStart(2, '0') + value
}

function toPlainText(text: string, lengthMax: number): string {
  const plain = text.normalize('NFD').replace(/[^\x20-\x7e]/g, '')
  return plain.slice(0, lengthMax).trim()
}

function withChecksum(fields: string): string {
  const covered = `${fields}6304`
  return covered + crc16(covered).toString(16).toUpperCase().padStart(4, '0')
}

/** Computes CRC-16/CCITT-FALSE. */
export function crc16(text: string): number {
  let crc = 0xffff
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit += 1)
      crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff
  }
  return crc
}
