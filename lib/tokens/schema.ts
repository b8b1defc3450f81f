import * as z from 'zod'
import { instant, listOf, modeField, must, openApiMeta, text } from '#lib/core/fields.ts'
import {
  DEFAULT_PERMISSIONS,
  isPermission,
  PERMISSIONS,
  type Permission,
} from '#lib/people/roles.ts'

export { DEFAULT_PERMISSIONS, isPermission, PERMISSIONS, type Permission }

/** expiring: accepted for at most another week. replaced: accepted until its overlap ends. */
export const TOKEN_STATUSES = ['active', 'expiring', 'replaced', 'expired', 'revoked'] as const
export type TokenStatus = (typeof TOKEN_STATUSES)[number]

/** Returns whether a token of this status is accepted. SQL: `activeTokenCondition` in authenticate.ts. */
export function isActiveToken(status: TokenStatus): boolean {
  return status !== 'expired' && status !== 'revoked'
}

interface Ends {
  revoked_at: string | null
  expires_at: string | null
  parent: { ended_at: string | null } | null
}

/** Returns when the parent of a token ended, if the token ended with it and not before. */
export function endOfParent({ parent, revoked_at, expires_at }: Ends): string | null {
  const [ended, own] = [parent?.ended_at ?? null, revoked_at ?? expires_at]
  return ended !== null && (own === null || own >= ended) ? ended : null
}

const ADDRESSES_MEANING =
  'IPv4 and IPv6 addresses and CIDR ranges from which the token may be used; empty: from anywhere.'

const PermissionName = z
  .enum(PERMISSIONS)
  .meta({ id: 'Permission', ...openApiMeta('Permission of a token.', 'account:read') })

const TOKEN_STATUS_DESCRIPTION =
  '`expiring`: valid for at most another week. `replaced`: valid until its overlap with the replacement ends. `expired` and `revoked`: no longer valid.'
const tokenStatus = z
  .enum(TOKEN_STATUSES)
  .meta({ id: 'TokenStatus', ...openApiMeta(TOKEN_STATUS_DESCRIPTION, 'active') })

/** Row of a token. Never contains the token itself or its hash. */
const Token = z
  .object({
    id: z.uuid().meta({ examples: ['01a1fbca-6f2e-7c15-8d43-0b9e5a7c2f18'] }),
    name: z.string().meta({ examples: ['Worker'] }),
    prefix: z.string().meta(openApiMeta('First characters of the token.', 'troco_test_3fK9xQ2mA')),
    last_four: z.string().meta({ examples: ['8XbT'] }),
    permissions: z.array(PermissionName),
    allowed_addresses: z.array(z.string()).meta(openApiMeta(ADDRESSES_MEANING, ['203.0.113.0/24'])),
    status: tokenStatus,
    created_at: instant,
    last_used_at: instant.nullable(),
    expires_at: instant.nullable(),
    revoked_at: instant.nullable().meta({ examples: [null] }),
    revoked_reason: z
      .string()
      .nullable()
      .meta({ examples: [null] }),
    /** `revoker` does not name operator staff. */
    revoked_by: z
      .enum(['member', 'operator', 'token'])
      .nullable()
      .meta(openApiMeta('Who revoked it. `token`: the token that created it.', null)),
    revoker: z.string().nullable().meta(openApiMeta('Name of the member who revoked it.', null)),
    replaced_by: z
      .uuid()
      .nullable()
      .meta({ examples: [null] }),
    parent: z
      .object({ id: z.uuid(), name: z.string(), ended_at: instant.nullable() })
      .nullable()
      .meta(
        openApiMeta(
          'The token that created this one. When it ends, this one ends, too; until then, `ended_at` is null. Null if a member or the administrator created this one.',
          { id: '01a1fbc9-1d4c-7b30-a5f2-8e6d3c0b9a71', name: 'Deployment', ended_at: null },
        ),
      ),
    issuer: z
      .string()
      .nullable()
      .meta(
        openApiMeta('Name of the member who issued it; null for the administrator.', 'Ana Lima'),
      ),
    exceeds_issuer: z
      .boolean()
      .meta(
        openApiMeta(
          'Whether it has a permission that the current role of its issuer lacks.',
          false,
        ),
      ),
  })
  .meta({ id: 'Token' })
export type TokenRow = z.infer<typeof Token>

const IssuedToken = Token.extend({ mode: modeField })
export type IssuedTokenRow = z.infer<typeof IssuedToken>

/** Maximum active tokens per account and mode: with more, some are probably unused. */
export const TOKENS_MAX = 100
const LIFETIME_DAYS_MAX = 3_650
/** Choices for the overlap, in which every program switches to the new token. */
export const OVERLAP_HOURS = [0, 1, 24, 168] as const

/** More are a sign that a range is missing. */
export const ADDRESSES_MAX = 20
const ADDRESSES_RULE = `be a list of at most ${ADDRESSES_MAX} addresses`
const ADDRESS_RULE =
  'be an IPv4 or IPv6 address, or a CIDR range that begins at its first address, such as 203.0.113.0/24'

/** Canonical and without repetitions. Null for text that is no address. */
const allowedAddress = z
  .string(must(ADDRESS_RULE))
  .max(64, must(ADDRESS_RULE))
  .transform((text, context) => {
    const range = normalizeRange(text)
    if (range !== null) return range
    context.addIssue({ code: 'custom', message: `must ${ADDRESS_RULE}` })
    return z.NEVER
  })
export function isAddressOrRange(text: string): boolean {
  return allowedAddress.safeParse(text).success
}
const allowedAddresses = listOf(allowedAddress, ADDRESSES_MAX, { rule: ADDRESSES_RULE })
  .meta(openApiMeta(ADDRESSES_MEANING, ['203.0.113.7', '2001:db8::/48']))
  .transform(ranges => [...new Set(ranges)])

/** Repetitions are accepted. */
const PERMISSIONS_SENT_MAX = 100
const PERMISSIONS_RULE = `be a list of one or more of: ${PERMISSIONS.join(', ')}`
const LIFETIME_RULE = `be a whole number of days from 1 to ${LIFETIME_DAYS_MAX}`

const TokenFields = z.object({
  name: text(1, 100).meta({ examples: ['Worker'] }),
  permissions: listOf(z.enum(PERMISSIONS, must(PERMISSIONS_RULE)), PERMISSIONS_SENT_MAX, {
    min: 1,
    rule: PERMISSIONS_RULE,
  }).transform(requested => PERMISSIONS.filter(name => requested.includes(name))),
  expires_in_days: z
    .int(must(LIFETIME_RULE))
    .min(1, must(LIFETIME_RULE))
    .max(LIFETIME_DAYS_MAX, must(LIFETIME_RULE))
    .optional(),
  expires_on: z.iso
    .date(must('be a date such as 2027-03-31'))
    .optional()
    .meta(openApiMeta("Last day on which the token is valid, in the account's time zone.")),
  allowed_addresses: allowedAddresses.default([]),
})
const TokenRequest = TokenFields.refine(
  ({ expires_in_days: days, expires_on: day }) => days === undefined || day === undefined,
  { path: ['expires_on'], ...must('not be sent together with expires_in_days') },
)
export type TokenRequest = z.infer<typeof TokenRequest>
export type ExpiryField = 'expires_in_days' | 'expires_on'
export const tokenRequest = { test: TokenRequest, live: TokenRequest }

const AddressesRequest = z
  .object({ allowed_addresses: allowedAddresses })
  .meta({ sample: { allowed_addresses: ['203.0.113.7'] } })
export const addressesRequest = { test: AddressesRequest, live: AddressesRequest }

const RevokeRequest = z.object({
  reason: text(1, 200).optional().meta(openApiMeta('Reason, for the audit log.')),
})
export const revokeRequest = { test: RevokeRequest, live: RevokeRequest }

const OVERLAP_RULE = `be one of ${OVERLAP_HOURS.join(', ')}`
const OVERLAP_DESCRIPTION =
  'Hours for which the old token stays valid beside the new one, so that you can update all programs. 0: the old token ends at once.'
const RotateRequest = z.object({
  overlap_hours: z
    .literal(OVERLAP_HOURS, must(OVERLAP_RULE))
    .meta(openApiMeta(OVERLAP_DESCRIPTION, 24)),
})
export const rotateRequest = { test: RotateRequest, live: RotateRequest }

export const TokenList = z.object({ data: z.array(Token) })
export const IssuedTokenList = z.object({ data: z.array(IssuedToken) })
export const TokenRead = z.object({ data: Token })

export const TokenIssued = z.object({
  data: Token.extend({
    token: z
      .string()
      .nullable()
      .meta(
        openApiMeta(
          'Returned only once. Null in the response to a repeated request.',
          'troco_test_3fK9xQ2mA…8XbT',
        ),
      ),
  }).meta({ id: 'IssuedToken' }),
})

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
