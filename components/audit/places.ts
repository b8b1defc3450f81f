import type { AuditLine } from '#lib/base/audit/schema.ts'
import { MODES, type Mode } from '#lib/base/mode.ts'

/** Where the target of a deed can be looked at by whoever reads of it; null: nowhere. */
export function placeOf(line: AuditLine, shown: Mode, isStaff: boolean): string | null {
  const { action, account, target, before, after } = line
  const group = action.split('.')[0]
  if (isStaff) return account ? `/admin/accounts/${account.id}` : null
  const said = after?.mode ?? before?.mode
  const at = `/${MODES.find(mode => mode === said) ?? shown}`
  if (group === 'token') return `${at}/settings/tokens`
  if (group === 'member' || group === 'invitation') return `${at}/settings/members`
  if (group === 'webhook_secret') return `${at}/webhooks/endpoints`
  if (group === 'webhook_endpoint') {
    return action.endsWith('.deleted') ? null : `${at}/webhooks/endpoints/${target}`
  }
  if (group === 'webhook_delivery') return `${at}/webhooks`
  if (group === 'withdrawal') return `${at}/withdrawals/${target}`
  if (group === 'charge') return `${at}/charges/${target}`
  return null
}
