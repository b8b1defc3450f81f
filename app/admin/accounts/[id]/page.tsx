import { CircleAlert, Clock } from 'lucide-react'
import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { cache } from 'react'
import {
  AccountActions,
  RevokeAllButton,
  ViewButton,
} from '#app/admin/accounts/[id]/account-actions.tsx'
import { Amounts, PaymentLinks } from '#app/admin/accounts/[id]/amounts.tsx'
import { ApprovalChange } from '#app/admin/accounts/[id]/approval-change.tsx'
import { ConnectionsForm } from '#app/admin/accounts/[id]/connections-form.tsx'
import { FindCharge } from '#app/admin/accounts/[id]/find-charge.tsx'
import { AccountLimitsForm } from '#app/admin/accounts/[id]/limits-form.tsx'
import { MemberLines } from '#app/admin/accounts/[id]/member-lines.tsx'
import { AccountState } from '#app/admin/accounts/account-state.tsx'
import { TokenLines } from '#app/admin/token-lines.tsx'
import { RecordLines } from '#components/audit/record-lines.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { RelativeTime } from '#components/format/format.tsx'
import { CopyValue } from '#components/ui/copy-value.tsx'
import { Fact, Facts } from '#components/ui/facts.tsx'
import { Notice } from '#components/ui/notice.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Section } from '#components/ui/sheet.tsx'
import { readAssignedConnections } from '#lib/accounts/queries.ts'
import { listAudit } from '#lib/audit/queries.ts'
import { listConnections } from '#lib/banks/connections.ts'
import type { ConnectionLine } from '#lib/banks/schema.ts'
import { readApprovalSettings } from '#lib/dashboard/approval-rule.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readAccount } from '#lib/operator/accounts.ts'
import { readEnding } from '#lib/operator/ending.ts'
import { findBankOrder, findMaskedCharge } from '#lib/operator/payment-lookup.ts'
import type { AccountDetail } from '#lib/operator/schema.ts'
import { listTokensOf } from '#lib/operator/tokens.ts'
import { requireAdmin } from '#lib/session/gate.ts'
import type { TokenStatus } from '#lib/tokens/states.ts'

const RECORDS_SHOWN = 6
const ENDED_STATUSES: TokenStatus[] = ['revoked', 'expired']

interface AccountPageProps {
  params: Promise<{ id: string }>
  searchParams: Promise<SearchParams>
}

/** Cached per request, because the metadata and the page both read the account. */
const findAccount = cache(async (id: string) => (await readAccount(id)) ?? notFound())

export async function generateMetadata({ params }: AccountPageProps): Promise<Metadata> {
  await requireAdmin()
  return { title: (await findAccount((await params).id)).name }
}

export default async function AccountPage({ params, searchParams }: AccountPageProps) {
  const { id: adminId } = await requireAdmin()
  const account = await findAccount((await params).id)
  const { id, name } = account
  const { charge: chargeParam } = await searchParams
  const chargeId = typeof chargeParam === 'string' ? chargeParam : ''
  const [t, tokens, found, records, approval, assigned, connections] = await Promise.all([
    getTranslations('adminAccount'),
    listTokensOf(id),
    findSubject(id, chargeId, adminId),
    listAudit({ staff: true }, { account: id, limit: RECORDS_SHOWN }),
    readApprovalSettings(id, adminId, true),
    readAssignedConnections(id),
    listConnections(),
  ])
  const activeCount = tokens.filter(({ status }) => !ENDED_STATUSES.includes(status)).length
  return (
    <ClientMessages
      namespaces={[
        'adminAccount',
        'adminDeed',
        'adminTokens',
        'tokens',
        'settings',
        'chargeStatus',
        'rejection',
        'viewing',
      ]}
    >
      <PageHead
        title={<span className="break-words">{name}</span>}
        parent={{ href: '/admin/accounts', label: t('accounts') }}
        beside={<AccountState status={account.status} />}
      >
        <ViewButton id={id} name={name} />
        <AccountActions account={account} />
      </PageHead>
      <AccountStatusNotice account={account} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-[minmax(0,1fr)_minmax(0,380px)]">
        <div className="grid min-w-0 gap-6">
          <Section title={t('money')} aside={<PaymentLinks accountId={id} />}>
            <Amounts account={account} />
          </Section>
          <Section
            title={t('tokens')}
            aside={
              activeCount > 0 ? (
                <RevokeAllButton accountId={id} name={name} count={activeCount} />
              ) : null
            }
          >
            {tokens.length > 0 ? (
              <div className="-mx-4 md:-mx-[18px]">
                <TokenLines tokens={tokens} />
              </div>
            ) : (
              <p className="text-muted">{t('noTokens')}</p>
            )}
          </Section>
          <Section title={t('members')}>
            {account.members.length > 0 ? (
              <MemberLines members={account.members} />
            ) : (
              <p className="text-muted">{t('noMembers')}</p>
            )}
          </Section>
          <Section title={t('records')}>
            <RecordLines
              label={t('records')}
              lines={records.rows}
              href={`/admin/audit?account=${id}`}
              hrefText={t('seeRecords')}
            />
          </Section>
        </div>
        <div className="grid min-w-0 gap-6">
          <Section title={t('about')}>
            <About account={account} />
          </Section>
          <Section title={t('connections.title')} text={t('connections.text')}>
            <ConnectionsForm
              {...{ accountId: id, assigned }}
              connections={connections.filter(isForAccounts)}
            />
          </Section>
          <Section title={t('limits')} text={t('limitsText')}>
            <AccountLimitsForm accountId={id} limits={account.limits} />
          </Section>
          <Section title={t('approval.title')} text={t('approval.text')}>
            <ApprovalChange accountId={id} settings={approval} />
          </Section>
          <div id="payment" className="scroll-mt-6">
            <Section title={t('findCharge')} text={t('findChargeText')}>
              <FindCharge accountId={id} chargeId={chargeId} {...found} />
            </Section>
          </div>
        </div>
      </div>
    </ClientMessages>
  )
}

/** Finds what a support request is about. */
async function findSubject(accountId: string, id: string, adminId: string) {
  const [charge, order, ending] = await Promise.all([
    findMaskedCharge(accountId, id),
    findBankOrder(accountId, id),
    readEnding(accountId, id, adminId),
  ])
  return { charge, order, ending }
}

function isForAccounts({ environment, state }: ConnectionLine): boolean {
  return environment === 'production' && state !== 'closed'
}

async function AccountStatusNotice({ account }: { account: AccountDetail }) {
  const t = await getTranslations('adminAccount')
  const { status, standing } = account
  if (status === 'active') return null
  const isPending = status === 'pending'
  return (
    <div className="mb-6">
      <Notice tone={isPending ? 'wait' : 'bad'} icon={isPending ? Clock : CircleAlert}>
        {isPending ? t('isPending') : t('isSuspended', { reason: standing.reason ?? '—' })}
      </Notice>
    </div>
  )
}

async function About({ account }: { account: AccountDetail }) {
  const t = await getTranslations('adminAccount')
  const { id, city, created_at, standing } = account
  return (
    <Facts>
      <Fact name={t('since')}>
        <RelativeTime at={standing.since} />
        {standing.by ? <span className="text-muted"> · {standing.by}</span> : null}
      </Fact>
      {account.status === 'active' && standing.reason ? (
        <Fact name={t('reason')}>{standing.reason}</Fact>
      ) : null}
      <Fact name={t('owner')}>{account.owner_email ?? t('nobody')}</Fact>
      <Fact name={t('city')}>{city}</Fact>
      <Fact name={t('created')}>
        <RelativeTime at={created_at} />
      </Fact>
      <Fact name={t('id')}>
        <CopyValue name={t('id')} value={id} />
      </Fact>
    </Facts>
  )
}
