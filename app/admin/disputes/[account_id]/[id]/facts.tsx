'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { ExactTime, Money } from '#components/format/format.tsx'
import { Deadline } from '#components/status/dispute-state.tsx'
import { CopyValue } from '#components/ui/copy.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import type { DisputeEvidence, DisputeWithEvidence } from '#lib/operator/schema.ts'

export function DisputeFacts({ dispute }: { dispute: DisputeWithEvidence }) {
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

export function Evidence({ evidence }: { evidence: DisputeEvidence }) {
  const t = useTranslations('disputes')
  const { viewed_at: viewedAt, attempts, refunds } = evidence
  return (
    <Facts>
      <Fact name={t('created')}>
        <ExactTime at={evidence.created_at} format="dated" />
      </Fact>
      <Fact name={t('viewed')}>
        {viewedAt ? <ExactTime at={viewedAt} format="dated" /> : t('notViewed')}
      </Fact>
      <Fact name={t('paid')}>
        <ExactTime at={evidence.paid_at} format="dated" />
      </Fact>
      <Fact name={t('charged')}>
        <Money cents={evidence.charged} />
      </Fact>
      <Fact name={t('payer')}>{evidence.payer}</Fact>
      <Fact name={t('reference')}>
        <span className="break-all">{evidence.reference}</span>
      </Fact>
      <Fact name={t('charge')}>
        <CopyValue name={t('charge')} value={evidence.charge_id} />
      </Fact>
      <Fact name={t('endToEnd')}>
        <CopyValue name={t('endToEnd')} value={evidence.end_to_end_id} />
      </Fact>
      <Fact name={t('attempts')}>
        <Lines none={t('noAttempts')}>
          {attempts.map(({ at, type, host, response_status: status }) => (
            <li key={`${at} ${type} ${host}`} className="break-words">
              <ExactTime at={at} format="dated" /> · <code className="text-small">{type}</code> ·{' '}
              {host} · {status === null ? t('noResponse') : t('httpStatus', { status })}
            </li>
          ))}
        </Lines>
      </Fact>
      <Fact name={t('refunds')}>
        <Lines none={t('noRefunds')}>
          {refunds.map(({ at, amount, status }) => (
            <li key={`${at} ${amount}`}>
              <ExactTime at={at} format="dated" /> · <Money cents={amount} /> ·{' '}
              {t(`refundStatus.${status}`)}
            </li>
          ))}
        </Lines>
      </Fact>
    </Facts>
  )
}

function Lines({ none, children }: { none: string; children: ReactNode[] }) {
  if (children.length === 0) return <span className="text-muted">{none}</span>
  return <ul className="grid gap-1.5">{children}</ul>
}
