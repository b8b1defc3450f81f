import Link from 'next/link'
import { ActorName, useActionText } from '#components/audit/names.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
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
