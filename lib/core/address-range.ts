const DECIMAL_OCTET = /^(0|[1-9]\d{0,2})$/
const MAPPED_BITS = 96

interface ParsedAddress {
  text: string
  bytes: number[]
  isMapped: boolean
}

/**
 * Returns the canonical form of an IPv4 or IPv6 address or CIDR range; null for other text, and for a
 * range that does not begin at its first address, because it could mean either. An IPv4-mapped IPv6
 * address becomes IPv4. Also runs in the browser.
 */
export function normalizeRange(text: string): string | null {
  const [, address = '', bits] = /^([^/]*)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text.trim()) ?? []
  const parsed = parseIpv4(address) ?? parseIpv6(address)
  if (!parsed) return null
  const width = parsed.bytes.length * 8
  const given = bits === undefined ? null : Number(bits)
  const prefix = given === null ? width : given - (parsed.isMapped ? MAPPED_BITS : 0)
  if (prefix < 0 || prefix > width || !isFirst(parsed.bytes, prefix)) return null
  return prefix === width ? parsed.text : `${parsed.text}/${prefix}`
}

/** Returns whether a normalized range contains another one, or an address. */
export function containsRange(outer: string, inner: string): boolean {
  const [one, other] = [outer, inner].map(text => {
    const [address = '', bits] = text.split('/')
    const bytes = (parseIpv4(address) ?? parseIpv6(address))?.bytes ?? []
    return { bytes, prefix: bits === undefined ? bytes.length * 8 : Number(bits) }
  })
  if (!one || !other || one.bytes.length !== other.bytes.length) return false
  const isShared = (byte: number, at: number) =>
    ((byte ^ (other.bytes[at] ?? 0)) & ~(0xff >> clamp(one.prefix - at * 8)) & 0xff) === 0
  return other.prefix >= one.prefix && one.bytes.every(isShared)
}

function isFirst(bytes: number[], prefix: number): boolean {
  return bytes.every((byte, place) => (byte & (0xff >> clamp(prefix - place * 8))) === 0)
}

function clamp(bits: number): number {
  return Math.min(Math.max(bits, 0), 8)
}

function parseIpv4(text: string): ParsedAddress | null {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every(part => DECIMAL_OCTET.test(part) && Number(part) < 256))
    return null
  return { text, bytes: parts.map(Number), isMapped: false }
}

function parseIpv6(text: string): ParsedAddress | null {
  if (!/^[\da-f:.]{2,45}$/i.test(text)) return null
  const plain = URL.parse(`http://[${text}]`)?.hostname.slice(1, -1)
  if (!plain) return null
  const [front = [], back = []] = plain.split('::').map(part => part.split(':').filter(Boolean))
  const zeros = Array<string>(8 - front.length - back.length).fill('0')
  const bytes = [...front, ...zeros, ...back].flatMap(group => {
    const number = Number.parseInt(group, 16)
    return [number >> 8, number & 0xff]
  })
  if (!plain.startsWith('::ffff:') || bytes.slice(0, 10).some(byte => byte !== 0))
    return { text: plain, bytes, isMapped: false }
  const last = bytes.slice(12)
  return { text: last.join('.'), bytes: last, isMapped: true }
}
