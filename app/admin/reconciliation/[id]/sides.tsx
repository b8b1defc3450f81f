'use client'

import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { useFactName, useKindName } from '#app/admin/reconciliation/names.tsx'
import { ExactTime, Money } from '#components/format/format.tsx'
import { ChargeStateChip } from '#components/status/state-chips.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { shownStatusOf } from '#lib/charges/states.ts'
import { dateFormat } from '#lib/core/locale.ts'
import type {
  DifferenceDetail,
  DifferenceEvidence,
  SideCharge,
} from '#lib/operator/differences/schema.ts'

interface SideProps {
  item: DifferenceDetail
}

/** Facts that the bank reported. */
export function BankSide({ item: { kind, key, evidence } }: SideProps) {
  const t = useTranslations('differences')
  const { what } = evidence.bank
  // The bank's name of an entry, unless it says no more than what it is.
  const facts = Object.entries(evidence.bank).filter(
    ([name, value]) => name !== 'kind' || value !== what,
  )
  const isNamed = kind.startsWith('day_') || facts.some(([, value]) => value === key)
  return (
    <Side lead={kind === 'day_missing_there' ? t('lead.notAtBank') : null}>
      {isNamed ? null : <NotedFact name="key" value={key} />}
      {facts.map(([name, value]) => (
        <NotedFact key={name} name={name} value={value} />
      ))}
    </Side>
  )
}

/** Facts that rows of the page show with more about them. */
const SHOWN_FACTS = ['account_id', 'transaction_id', 'withdrawal_id', 'payment_id', 'mode']

/** Facts stored with the item, and the present state of the rows that they name. */
export function OurSide({ item: { kind, evidence } }: SideProps) {
  const t = useTranslations('differences')
  const noted = Object.entries(evidence.noted).filter(([name]) => !SHOWN_FACTS.includes(name))
  const { account, charge, withdrawal, deliveries, returns } = evidence
  const isEmpty = noted.length + deliveries.length + returns.length === 0
  const lack = evidence.noted.at ? t('lead.twiceAtBank') : t('lead.notInBooks')
  const lead = kind === 'day_missing_here' ? lack : null
  if (isEmpty && !account && !charge && !withdrawal)
    return <p className="text-muted">{lead ?? t('noEvidence')}</p>
  return (
    <Side lead={lead}>
      {account ? (
        <Fact name={t('account')}>
          <Link href={`/admin/accounts/${account.id}`} className="font-medium hover:underline">
            {account.name}
          </Link>
        </Fact>
      ) : null}
      {charge ? <ChargeFacts charge={charge} /> : null}
      {withdrawal ? (
        <Fact name={t('withdrawal')}>
          <Money cents={withdrawal.amount} /> ·{' '}
          {t(`withdrawalStatus.${withdrawal.status}` as 'withdrawalStatus.pending')}
          <Code>{withdrawal.id}</Code>
        </Fact>
      ) : null}
      {noted.map(([name, value]) => (
        <NotedFact key={name} name={name} value={value} />
      ))}
      {deliveries.map(({ type, host, status, created_at: at }) => (
        <Fact key={`${type} ${host} ${at}`} name={t('delivery')}>
          {t(`deliveryStatus.${status}` as 'deliveryStatus.pending')} · {host}
          <Code>{type}</Code>
        </Fact>
      ))}
      {returns.map(one => (
        <ReturnFact key={one.id} order={one} />
      ))}
    </Side>
  )
}

/** `lead`: what the side of a reconciled day lacks. */
function Side({ lead, children }: { lead: string | null; children: ReactNode }) {
  return (
    <>
      {lead ? <p className="mb-4 text-muted">{lead}</p> : null}
      <Facts>{children}</Facts>
    </>
  )
}

function ChargeFacts({ charge }: { charge: SideCharge }) {
  const t = useTranslations('differences')
  return (
    <>
      <Fact name={t('charge')}>
        <span className="font-semibold">
          <Money cents={charge.amount} />
        </span>{' '}
        <ChargeStateChip status={shownStatusOf(charge)} />
        <Code>{charge.id}</Code>
      </Fact>
      <Fact name={t('payer')}>{charge.payer}</Fact>
      <Fact name={t('created')}>
        <ExactTime at={charge.created_at} format="dated" />
      </Fact>
      {charge.paid_at ? (
        <Fact name={t('paid')}>
          <ExactTime at={charge.paid_at} format="dated" />
          {charge.end_to_end_id ? <Code>{charge.end_to_end_id}</Code> : null}
        </Fact>
      ) : null}
      {charge.refunded_amount > 0 ? (
        <Fact name={t('refunded')}>
          <Money cents={charge.refunded_amount} />
        </Fact>
      ) : null}
    </>
  )
}

function ReturnFact({ order }: { order: DifferenceEvidence['returns'][number] }) {
  const t = useTranslations('differences')
  const { status, attempts, created_at: at } = order
  return (
    <Fact name={t('return')}>
      {t(`returnStatus.${status}`, { attempts })} · <ExactTime at={at} format="dated" />
      {order.bank_text ? <span className="block text-muted">{order.bank_text}</span> : null}
      {order.return_id ? <Code>{order.return_id}</Code> : null}
    </Fact>
  )
}

function Code({ children }: { children: ReactNode }) {
  return <span className="block break-all font-mono text-[13px] text-muted">{children}</span>
}

interface NotedFactProps {
  name: string
  value: DifferenceEvidence['bank'][string]
}

/** A fact that is stored with an item: the bank's, or of the books at the time. */
function NotedFact({ name, value }: NotedFactProps) {
  const factName = useFactName()
  return (
    <Fact name={factName(name)}>
      <NotedValue name={name} value={value} />
    </Fact>
  )
}

const DAY = { dateStyle: 'medium', timeZone: 'UTC' } as const
const CENTS = /amount$|^(opening|closing|difference)$/
const CODES = ['what', 'kind', 'state', 'status', 'stored_status', 'ended_as', 'bank_reports']

/** Cents, times and codes are known by the names of the facts that hold them. */
function NotedValue({ name, value }: NotedFactProps) {
  const t = useTranslations('differences')
  const locale = useLocale()
  const kindName = useKindName()
  if (typeof value === 'number') return CENTS.test(name) ? <Money cents={value} /> : String(value)
  if (typeof value !== 'string') return <NotedCode>{String(value ?? '—')}</NotedCode>
  if (/^at$|_at$/.test(name) && !Number.isNaN(Date.parse(value)))
    return <ExactTime at={value} format="dated" />
  if (name === 'day') return dateFormat(locale, DAY).format(new Date(value))
  if (CODES.includes(name) && t.has(`code.${value}` as never)) return t(`code.${value}` as never)
  return name === 'reason' ? kindName(value) : <NotedCode>{value}</NotedCode>
}

function NotedCode({ children }: { children: string }) {
  return <span className="break-all font-mono text-[13px]">{children}</span>
}
