import { listBanks } from '#lib/banks/served.ts'
import type { Tx } from '#lib/db/client.ts'

/** Days before the end of a client certificate at which staff is warned. Banks need days to issue one. */
const WARNING_DAYS = [1, 7, 30] as const
const DAY_MS = 86_400_000

export interface EndingCertificate {
  id: string
  name: string
  endsAt: Date
  /** Warning that is due: the smallest number of days that is not yet reached. */
  days: (typeof WARNING_DAYS)[number]
  /** Whether accounts can use the connection. */
  isAssignable: boolean
}

/** Lists the certificates of open connections that end within 30 days, or have ended. */
export async function listEndingCertificates(now = Date.now()): Promise<EndingCertificate[]> {
  return (await listBanks()).flatMap(({ connection, gateway, isAssignable, isClosed }) => {
    const endsAt = gateway?.certificateEndsAt
    if (!endsAt || isClosed) return []
    const leftMs = endsAt.getTime() - now
    const days = WARNING_DAYS.find(each => leftMs <= each * DAY_MS)
    const { id, name } = connection
    return days === undefined ? [] : [{ id, name, endsAt, days, isAssignable }]
  })
}

/** Marks a warning as given. Returns false if it was before, or a more urgent one. */
export async function claimCertificateWarning(
  tx: Tx,
  { id, endsAt, days }: Pick<EndingCertificate, 'id' | 'endsAt' | 'days'>,
): Promise<boolean> {
  const claimed = await tx.$executeRaw`
    UPDATE connections SET certificate_warned_until = ${endsAt}, certificate_warned_days = ${days}
    WHERE id = ${id}::uuid AND disabled_at IS NULL
      AND (certificate_warned_until IS DISTINCT FROM ${endsAt}::timestamptz
        OR certificate_warned_days > ${days})`
  return claimed > 0
}
