import { type Actor, recordAudit } from '#lib/audit/record.ts'
import type { GatewayResult } from '#lib/banks/gateway.ts'
import {
  dropScheme,
  hostOfAddress,
  noticeAddressPrefix,
  readNoticeAddress,
} from '#lib/banks/notice-address.ts'
import { hideAddress, redactText, withConnectionJournal } from '#lib/banks/record-call.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { refuse } from '#lib/core/errors.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'

/** registered: from now on, the bank sends notices to this connection's address. foreign: elsewhere, as before. */
export interface KeyNotices {
  key: string
  state: 'registered' | 'foreign'
  /** Host of the address that was found; null if there was none. */
  host: string | null
}

interface Options {
  /** Replaces addresses that are not of this connection, too. */
  replacesForeign?: boolean
}

/**
 * Gives the bank the address for notices of each key that has none or one of this connection: also the
 * same one, because the bank verifies it anew by the rule for certificates of now. Null: the bank has no
 * notices. Called twice, it does the same.
 */
export async function registerNoticeAddress(
  connectionId: string,
  actor: Actor,
  { replacesForeign = false }: Options = {},
): Promise<GatewayResult<KeyNotices[]> | null> {
  if (!env().PUBLIC_URL.startsWith('https:'))
    throw refuse(
      'not_supported',
      'Set PUBLIC_URL to an https address: banks send notices to no other one',
    )
  const gateway = await gatewayOfConnection(connectionId)
  const { listWebhooks, registerWebhook } = withConnectionJournal({ id: connectionId, gateway })
  if (!listWebhooks || !registerWebhook) return null
  const listed = await listWebhooks()
  if (listed.outcome !== 'ok') return listed
  const address = await readNoticeAddress(connectionId)
  const prefix = dropScheme(noticeAddressPrefix(connectionId))
  const keys = listed.value.map(({ key, address: found }) => {
    const isOurs = found !== null && dropScheme(found).startsWith(prefix)
    const host = found === null ? null : hostOfAddress(found)
    return { key, host, isOurs, isForeign: found !== null && !isOurs && !replacesForeign }
  })
  const ours = keys.filter(({ isForeign }) => !isForeign).map(({ key }) => key)
  if (ours.length > 0) {
    const { noticeCertificate: isCertificateRequired } = await db().connection.findUniqueOrThrow({
      where: { id: connectionId },
      select: { noticeCertificate: true },
    })
    const registered = await registerWebhook(address, { keys: ours, isCertificateRequired })
    if (registered.outcome !== 'ok') return redact(registered, address)
    const replaced = keys.flatMap(({ host, isOurs }) => (host === null || isOurs ? [] : [host]))
    await recordAudit(db(), {
      actor,
      action: 'connection.notices_registered',
      target: connectionId,
      after: { keys: ours.length, ...(replaced.length > 0 && { replaced }) },
    })
  }
  return {
    outcome: 'ok',
    value: keys.map(({ key, host, isForeign }) => ({
      key,
      host,
      state: isForeign ? 'foreign' : 'registered',
    })),
  }
}

/** The bank's text may repeat the address. */
function redact(
  result: Exclude<GatewayResult<null>, { outcome: 'ok' }>,
  address: string,
): Exclude<GatewayResult<null>, { outcome: 'ok' }> {
  const hidden = hideAddress(address)
  if (result.outcome !== 'rejected') return { ...result, reason: redactText(result.reason, hidden) }
  const { bankText } = result
  return { ...result, bankText: bankText === null ? null : redactText(bankText, hidden) }
}
