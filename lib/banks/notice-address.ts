import { type Actor, recordAudit } from '#lib/audit/record.ts'
import type { NoticeRules } from '#lib/banks/gateway.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { hmac, isEqual } from '#lib/core/keys.ts'
import { env, isCidrList } from '#lib/core/settings.ts'
import { db, transaction } from '#lib/db/client.ts'

/** Overlap of a rotation: time to register the new address, and for notices on their way. */
const OVERLAP_MS = 24 * 3_600_000
const CIDRS_MAX = 100

/** Returns the address for notices up to its secret: addresses that begin so belong to the connection. */
export function noticeAddressPrefix(connectionId: string): string {
  return `${env().PUBLIC_URL.replace(/(?<!\/)\/+$/, '')}/api/banks/${connectionId}/notices/`
}

/** Some banks omit it. */
export function dropScheme(address: string): string {
  return address.replace(/^https?:\/\//i, '')
}

/** Returns the host of an address for notices. The rest may be a secret, also of another system. */
export function hostOfAddress(address: string): string {
  return URL.parse(`https://${dropScheme(address)}`)?.host ?? ''
}

/** Returns the address to which the bank of a connection sends notices. It contains a secret. */
export async function readNoticeAddress(connectionId: string): Promise<string> {
  const where = { id: connectionId, kind: { not: 'simulator' } }
  const select = { noticeSecretNumber: true } as const
  const row = await db().connection.findFirst({ where, select })
  if (!row) throw refuse('not_found')
  return noticeAddressPrefix(connectionId) + noticeSecret(connectionId, row.noticeSecretNumber)
}

/**
 * Returns whether a secret opens the connection's address. Null rules: the connection is unknown; the
 * work is the same. The next number counts, too: a process learns of a rotation up to 5 s late.
 */
export function isNoticeSecret(
  connectionId: string,
  given: string,
  rules: NoticeRules | null,
): boolean {
  const { secretNumber: current, rotatedAt } = rules ?? { secretNumber: 1, rotatedAt: null }
  const isOverlapping = rotatedAt !== null && Date.now() - rotatedAt.getTime() < OVERLAP_MS
  const numbers = [current, current + 1, isOverlapping ? current - 1 : current]
  const { TROCO_SECRET, TROCO_SECRET_BEFORE = TROCO_SECRET } = env()
  const matches = [TROCO_SECRET, TROCO_SECRET_BEFORE].flatMap(key =>
    numbers.map(number => isEqual(given, noticeSecret(connectionId, number, key))),
  )
  return matches.filter(Boolean).length > 0 && rules !== null
}

/** Derived, so that no row, backup or log contains it. */
function noticeSecret(connectionId: string, number: number, key?: string): string {
  return hmac('bank-notices', `${connectionId} ${number}`, key).toString('base64url')
}

/**
 * Gives a connection a new address for notices and returns it; the old one is accepted for 24 hours,
 * unless the connection is rotated again. The bank must be given the new one.
 */
export async function rotateNoticeSecret(connectionId: string, actor: Actor): Promise<string> {
  await transaction(async tx => {
    const { count } = await tx.connection.updateMany({
      where: { id: connectionId, kind: { not: 'simulator' } },
      data: { noticeSecretNumber: { increment: 1 }, noticeRotatedAt: new Date() },
    })
    if (count === 0) throw refuse('not_found')
    await recordAudit(tx, { actor, action: 'connection.notices_rotated', target: connectionId })
  })
  return readNoticeAddress(connectionId)
}

/** Rules for notices that an operator sets; the others stay. */
export interface NoticeRestrictions {
  /** Ranges of addresses, such as 203.0.113.0/24; empty: all. */
  cidrs?: string[]
  isCertificateRequired?: boolean
}

/** Sets from where, and with what proof, notices are accepted, effective within 5 s. */
export async function restrictNotices(
  connectionId: string,
  { cidrs, isCertificateRequired }: NoticeRestrictions,
  actor: Actor,
): Promise<void> {
  if (cidrs && (cidrs.length > CIDRS_MAX || !cidrs.every(isRange)))
    throw invalidInput('cidrs', `must be at most ${CIDRS_MAX} ranges such as 203.0.113.0/24`)
  if (isCertificateRequired && !canSeeCertificates())
    throw invalidInput(
      'certificate',
      'needs CLIENT_CERTIFICATE_HEADER and TRUST_PROXY: without them every notice would be refused',
    )
  await transaction(async tx => {
    const { count } = await tx.connection.updateMany({
      where: { id: connectionId, kind: { not: 'simulator' } },
      data: { noticeCidrs: cidrs, noticeCertificate: isCertificateRequired },
    })
    if (count === 0) throw refuse('not_found')
    const after = {
      ...(cidrs && { cidrs }),
      ...(isCertificateRequired !== undefined && { certificate: isCertificateRequired }),
    }
    const action = 'connection.notices_restricted'
    await recordAudit(tx, { actor, action, target: connectionId, after })
  })
}

function isRange(text: string): boolean {
  return !text.includes(',') && isCidrList(text)
}

/** Whether the proxy's verdict on client certificates can be trusted. */
export function canSeeCertificates(): boolean {
  const { CLIENT_CERTIFICATE_HEADER, TRUST_PROXY } = env()
  return CLIENT_CERTIFICATE_HEADER !== undefined && TRUST_PROXY > 0
}
