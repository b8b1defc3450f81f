'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { Money } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Deadline, DisputeState } from '#components/status/state-chips.tsx'
import { type Column, DataList } from '#components/ui/data-list.tsx'
import { ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import type { ListedDispute } from '#lib/charges/disputes/schema.ts'

export interface DisputeListRow extends ListedDispute {
  href: string
  subject: string
  /** A line below the subject. */
  detail?: string
}

interface DisputeRowsProps {
  subjectHead: string
  disputes: DisputeListRow[]
}

export function DisputeRows({ subjectHead, disputes }: DisputeRowsProps) {
  const t = useTranslations('disputes')
  const columns: Column<DisputeListRow>[] = [
    {
      head: subjectHead,
      cell: dispute => <SubjectLink dispute={dispute} />,
      title: ({ subject }) => subject,
      card: 'title',
    },
    {
      head: t('status'),
      width: '150px',
      cell: dispute => <DisputeState dispute={dispute} />,
      card: 'left',
    },
    {
      head: t('deadline'),
      width: '190px',
      cell: dispute =>
        dispute.status === 'open' ? (
          <span className="relative z-10 text-small">
            <Deadline dispute={dispute} />
          </span>
        ) : null,
      card: 'right',
      isNamedOnCard: true,
    },
    {
      head: t('opened'),
      width: '170px',
      cell: ({ created_at: at }) => (
        <span className="relative z-10">
          <RelativeTime isInRow at={at} />
        </span>
      ),
      look: 'muted',
      isWideOnly: true,
    },
    {
      head: t('amount'),
      width: '160px',
      cell: ({ amount }) => <Money cents={amount} />,
      look: 'amount',
      card: 'aside',
    },
  ]
  return <DataList label={t('title')} columns={columns} items={disputes} keyOf={({ id }) => id} />
}

function SubjectLink({ dispute }: { dispute: DisputeListRow }) {
  const t = useTranslations('disputes')
  const { href, subject, detail, evidence_count: count } = dispute
  return (
    <Link href={href} prefetch={false} className={`block ${ROW_LINK}`}>
      <span className={`font-medium ${TWO_LINES}`}>{subject}</span>
      {detail ? (
        <span className="block truncate font-normal text-muted text-small">{detail}</span>
      ) : null}
      {count > 0 ? (
        <span className="block font-normal text-muted text-small">
          {t('evidenceCount', { count })}
        </span>
      ) : null}
    </Link>
  )
}
