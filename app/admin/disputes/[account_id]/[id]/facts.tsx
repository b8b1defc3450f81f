'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { ExactTime } from '#components/format/exact-time.tsx'
import { Money } from '#components/format/format.tsx'
import { Deadline } from '#components/status/dispute-state.tsx'
import { CopyValue } from '#components/ui/copy-value.tsx'
import { Fact, Facts } from '#components/ui/facts.tsx'
import type { DisputeDetail } from '#lib/operator/disputes/schema.ts'

export function DisputeFacts({ dispute }: { dispute: DisputeDetail }) {
  const t = useTranslations('disputes')
  const { account, respond_by: respondBy, closed_at: closedAt, lost_amount: lost } = dispute
  return (
    <Facts>
      <Fact name={t('account')}>
        <Link
          href={`/admin/accounts/${account.id}`}
          prefetch={false}
          className="font-semibold underline"
        >
          {account.name}
        </Link>
      </Fact>
      <Fact name={t('opened')}>
        <ExactTime at={dispute.created_at} format="dated" />
      </Fact>
      <Fact name={t('deadline')}>
        <Deadline dispute={dispute} />
        {respondBy ? (
          <span className="text-muted">
            {' · '}
            <ExactTime at={respondBy} format="dated" />
          </span>
        ) : null}
      </Fact>
      {closedAt ? (
        <Fact name={t('closed')}>
          <ExactTime at={closedAt} format="dated" />
        </Fact>
      ) : null}
      {lost === null ? null : (
        <Fact name={t('returned')}>
          <Money cents={lost} />
        </Fact>
      )}
      <Fact name={t('bank')}>{dispute.connection}</Fact>
      <Fact name={t('bankId')}>
        <CopyValue name={t('bankId')} value={dispute.bank_id} />
      </Fact>
    </Facts>
  )
}
