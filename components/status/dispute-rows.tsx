'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { Money } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Deadline, DisputeState } from '#components/status/state-chips.tsx'
import { ListSheet } from '#components/ui/sheet.tsx'
import {
  Cell,
  HeaderCell,
  ROW_LINK,
  Row,
  Table,
  TWO_LINES,
  WIDE_ONLY,
} from '#components/ui/table.tsx'
import type { DisputeBasics } from '#lib/charges/disputes/schema.ts'

export interface DisputeListRow extends DisputeBasics {
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
  return (
    <ListSheet>
      <Table aria-label={t('title')}>
        <thead>
          <tr>
            <HeaderCell>{subjectHead}</HeaderCell>
            <HeaderCell width="150px">{t('status')}</HeaderCell>
            <HeaderCell width="190px">{t('deadline')}</HeaderCell>
            <HeaderCell width="170px" isWideOnly>
              {t('opened')}
            </HeaderCell>
            <HeaderCell width="160px" side="right">
              {t('amount')}
            </HeaderCell>
          </tr>
        </thead>
        <tbody>
          {disputes.map(dispute => (
            <Row key={dispute.id}>
              <Cell title={dispute.subject}>
                <SubjectLink dispute={dispute} />
              </Cell>
              <Cell>
                <DisputeState dispute={dispute} />
              </Cell>
              <Cell className="text-small">
                <span className="relative z-10">
                  {dispute.status === 'open' ? <Deadline dispute={dispute} /> : '—'}
                </span>
              </Cell>
              <Cell className={`text-muted text-small ${WIDE_ONLY}`}>
                <span className="relative z-10">
                  <RelativeTime isInRow at={dispute.created_at} />
                </span>
              </Cell>
              <Cell className="text-right font-semibold">
                <Money cents={dispute.amount} />
              </Cell>
            </Row>
          ))}
        </tbody>
      </Table>
      <ul className="@table:hidden">
        {disputes.map(dispute => (
          <DisputeCard key={dispute.id} dispute={dispute} />
        ))}
      </ul>
    </ListSheet>
  )
}

function SubjectLink({ dispute }: { dispute: DisputeListRow }) {
  const { href, subject, detail } = dispute
  return (
    <Link href={href} prefetch={false} className={`block ${ROW_LINK}`}>
      <span className={`font-medium ${TWO_LINES}`}>{subject}</span>
      {detail ? (
        <span className="block truncate font-normal text-muted text-small">{detail}</span>
      ) : null}
    </Link>
  )
}

function DisputeCard({ dispute }: { dispute: DisputeListRow }) {
  const t = useTranslations('disputes')
  return (
    <li className="relative grid gap-2 border-line px-4 py-3.5 not-first:border-t">
      <div className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-x-3">
        <SubjectLink dispute={dispute} />
        <span className="font-semibold">
          <Money cents={dispute.amount} />
        </span>
      </div>
      <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1 text-small">
        <DisputeState dispute={dispute} />
        {dispute.status === 'open' ? (
          <span className="relative z-10">
            <span className="text-muted">{t('deadline')} </span>
            <Deadline dispute={dispute} />
          </span>
        ) : null}
      </div>
    </li>
  )
}
