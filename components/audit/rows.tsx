import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { actionMessageKey } from '#lib/audit/actions.ts'
import type { AuditLine } from '#lib/audit/schema.ts'

interface RecordLinesProps {
  label: string
  lines: AuditLine[]
  /** Address of the audit log with all of them. */
  href: string
  hrefText: string
}

export function RecordLines({ label, lines, href, hrefText }: RecordLinesProps) {
  const actionText = useActionText()
  return (
    <>
      <ul aria-label={label}>
        {lines.map(line => (
          <li
            key={line.id}
            className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 border-line py-2.5 not-first:border-t"
          >
            <p className="truncate font-medium">{actionText(line.action)}</p>
            <p className="text-muted text-small">
              <RelativeTime at={line.created_at} side="end" />
            </p>
            <p className="col-span-2 break-words text-muted text-small">
              <ActorName actor={line.actor} />
              {line.reason ? ` · ${line.reason}` : null}
            </p>
          </li>
        ))}
      </ul>
      <Link
        href={href}
        prefetch={false}
        className="mt-3 inline-block font-semibold text-accent hover:underline"
      >
        {hrefText}
      </Link>
    </>
  )
}

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

/** Filters by ids, which links set. */
export const EXACT_FILTERS = {
  account: 'accountFilter',
  actor: 'personFilter',
  target: 'targetFilter',
} as const
export type ExactFilter = keyof typeof EXACT_FILTERS
