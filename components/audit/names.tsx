import { useTranslations } from 'next-intl'
import { wordOf } from '#lib/base/audit/actions.ts'
import type { AuditLine } from '#lib/base/audit/schema.ts'

/** What was done, in plain words; a deed of another version by its code. */
export function useActionText(): (action: string) => string {
  const t = useTranslations('auditAction')
  return action => {
    const word = wordOf(action)
    return word ? t(word) : action
  }
}

/** Who did it: a person by their name, the rest by what it is. */
export function ActorName({ actor }: { actor: AuditLine['actor'] }) {
  const t = useTranslations('auditActor')
  return actor.name ?? t(actor.kind)
}
