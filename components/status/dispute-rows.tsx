'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { Deadline, DisputeState } from '#app/admin/disputes/dispute-state.tsx'
import { Money, RelativeTime } from '#components/format/format.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { Cell, HeaderCell, ROW_LINK, Row, Table, WIDE_ONLY } from '#components/ui/table.tsx'
import type { DisputeLine } from '#lib/views/admin/disputes/schema.ts'

export function DisputeList({ disputes }: { disputes: DisputeLine[] }) {
  const t = useTranslations('disputes')
  return (
    <Sheet>
      <Table aria-label={t('title')}>
        <thead>
          <tr>
            <HeaderCell>{t('account')}</HeaderCell>
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
              <Cell title={dispute.account.name}>
                <AccountLink dispute={dispute} />
              </Cell>
              <Cell>
                <DisputeState dispute={dispute} />
              </Cell>
              <Cell className="text-small">
                <span className="relative z-10">
                  <Deadline dispute={dispute} />
                </span>
              </Cell>
              <Cell className={`text-muted text-small ${WIDE_ONLY}`}>
                <span className="relative z-10">
                  <RelativeTime at={dispute.created_at} />
                </span>
              </Cell>
              <Cell className="text-right font-semibold">
                <Money cents={dispute.amount} />
              </Cell>
            </Row>
          ))}
        </tbody>
      </Table>
      <ul className="lg:hidden">
        {disputes.map(dispute => (
          <DisputeCard key={dispute.id} dispute={dispute} />
        ))}
      </ul>
    </Sheet>
  )
}

function AccountLink({ dispute }: { dispute: DisputeLine }) {
  const { id, account } = dispute
  return (
    <Link
      href={`/admin/disputes/${account.id}/${id}`}
      prefetch={false}
      className={`block truncate font-medium ${ROW_LINK}`}
    >
      {account.name}
    </Link>
  )
}

function DisputeCard({ dispute }: { dispute: DisputeLine }) {
  const t = useTranslations('disputes')
  return (
    <li className="relative grid gap-2 border-line px-4 py-3.5 not-first:border-t">
      <div className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-x-3">
        <AccountLink dispute={dispute} />
        <span className="font-semibold">
          <Money cents={dispute.amount} />
        </span>
      </div>
      <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1 text-small">
        <DisputeState dispute={dispute} />
        <span className="relative z-10">
          <span className="text-muted">{t('deadline')} </span>
          <Deadline dispute={dispute} />
        </span>
      </div>
    </li>
  )
}
