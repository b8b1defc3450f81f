import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { transaction } from '#lib/db/client.ts'
import type { ProfileChange } from '#lib/people/schema.ts'

export function updateProfile(
  actor: Actor & { type: 'user' },
  { full_name, locale, theme }: ProfileChange,
) {
  const { id } = actor
  return transaction(async tx => {
    const { name: before } = await tx.user.findUniqueOrThrow({ where: { id } })
    const row = await tx.user.update({ where: { id }, data: { name: full_name, locale, theme } })
    if (row.name !== before) {
      const names = { before: { name: before }, after: { name: row.name } }
      await recordAudit(tx, { actor, action: 'user.updated', target: id, ...names })
    }
    return { id, email: row.email, full_name: row.name, locale: row.locale, theme: row.theme }
  })
}
