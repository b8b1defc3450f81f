import { useTranslations } from 'next-intl'
import { actionMessageKey } from '#lib/audit/actions.ts'
import type { AuditLine } from '#lib/audit/schema.ts'

/** Translates an action. An unknown action, recorded by another version, is shown as its code. */
export function useActionText(): (action: string) => string {
  const t = useTranslations('auditAction')
  return action => {
    const messageKey = actionMessageKey(action)
    return messageKey ? t(messageKey) : action
  }
}

export function ActorName({ actor }: { actor: AuditLine['actor'] }) {
  const t = useTranslations('auditActor')
  return actor.name ?? t(actor.kind)
}
