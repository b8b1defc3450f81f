import { CircleAlert, Clock, ShieldAlert, ShieldCheck } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { notFound } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { cache } from 'react'
import {
  AccountActions,
  AccountLimitsForm,
  ApprovalChange,
  ConnectionsForm,
  RevokeAllButton,
  ViewButton,
} from '#app/admin/accounts/[id]/account-actions.tsx'
import { FindCharge } from '#app/admin/accounts/[id]/find-charge.tsx'
import { AccountState } from '#app/admin/accounts/account-list.tsx'
import { TokenLines } from '#app/admin/token-lines.tsx'
import { RecordLines } from '#components/audit/rows.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { Money } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { CopyValue } from '#components/ui/copy.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Notice, Section } from '#components/ui/sheet.tsx'
import { readAssignedConnections } from '#lib/accounts/queries.ts'
import { listAudit } from '#lib/audit/queries.ts'
import { listConnections } from '#lib/banks/connections.ts'
import type { ConnectionLine } from '#lib/banks/schema.ts'
import { readApprovalSettings } from '#lib/dashboard/approval-rule.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readAccount } from '#lib/operator/accounts.ts'
import { findBankOrder, findMaskedCharge } from '#lib/operator/payments.ts'
import type { AccountDetail, AccountMember } from '#lib/operator/schema.ts'
import { readEnding } from '#lib/operator/stuck.ts'
import { listTokensOf } from '#lib/operator/tokens.ts'
import { requireAdmin } from '#lib/session/gate.ts'
import type { TokenStatus } from '#lib/tokens/schema.ts'

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
        'ending',
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
        state={<AccountState status={account.status} />}
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
          <div id="payment" className="scroll-mt-6">
            <Section title={t('findCharge')} text={t('findChargeText')}>
              <FindCharge accountId={id} chargeId={chargeId} {...found} />
            </Section>
          </div>
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
              accountId={id}
              assigned={assigned}
              connections={connections.filter(isForAccounts)}
            />
          </Section>
          <Section title={t('limits')} text={t('limitsText')}>
            <AccountLimitsForm accountId={id} limits={account.limits} />
          </Section>
          <Section title={t('approval.title')} text={t('approval.text')}>
            <ApprovalChange accountId={id} settings={approval} />
          </Section>
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
    readEnding(id, adminId),
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

const AMOUNT_NAMES = ['balance', 'outbound', 'disputed', 'claim', 'volume'] as const
/** On phones, the two amounts stand below their name. */
const NARROW_ROW = 'max-sm:grid max-sm:grid-cols-2'
/** Shown only for accounts that have them. */
const RARE_NAMES: readonly string[] = ['disputed', 'claim']

function Amounts({ account }: { account: AccountDetail }) {
  const t = useTranslations('adminAccount')
  return (
    <table className="w-full">
      <thead>
        <tr className={`text-right text-muted text-small ${NARROW_ROW}`}>
          <td className="max-sm:hidden" />
          <th scope="col" className="pb-1 font-medium">
            {t('live')}
          </th>
          <th scope="col" className="pb-1 pl-4 font-medium">
            {t('test')}
          </th>
        </tr>
      </thead>
      <tbody>
        {AMOUNT_NAMES.filter(
          name => !RARE_NAMES.includes(name) || account[name].live + account[name].test > 0,
        ).map(name => (
          <tr key={name} className={`border-line border-t text-right ${NARROW_ROW}`}>
            <th
              scope="row"
              className="py-2.5 pr-3 text-left font-normal text-small max-sm:col-span-2 max-sm:pb-0"
            >
              {t(`amount.${name}`)}
            </th>
            <td className="py-2.5 font-semibold max-sm:text-small">
              <Money cents={account[name].live} />
            </td>
            <td className="py-2.5 pl-4 text-muted max-sm:pl-2 max-sm:text-small">
              <Money cents={account[name].test} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function PaymentLinks({ accountId }: { accountId: string }) {
  const t = useTranslations('adminPayments')
  return (
    <nav aria-label={t('label')} className="flex gap-4">
      {(['charges', 'withdrawals'] as const).map(kind => (
        <Link
          key={kind}
          href={`/admin/accounts/${accountId}/${kind}`}
          prefetch={false}
          className="font-semibold text-accent text-small hover:underline"
        >
          {t(kind)}
        </Link>
      ))}
    </nav>
  )
}

function MemberLines({ members }: { members: AccountMember[] }) {
  const t = useTranslations()
  return (
    <ul aria-label={t('adminAccount.members')}>
      {members.map(({ id, name, email, role, has_second_factor: hasFactor, is_disabled }) => (
        <li
          key={id}
          className="flex flex-wrap items-center gap-x-6 gap-y-1 border-line py-3 not-first:border-t"
        >
          <div className="min-w-0 flex-1 basis-44">
            <Link
              href={`/admin/people/${id}`}
              prefetch={false}
              className="block wrap-anywhere font-medium hover:underline"
            >
              {name}
            </Link>
            <p className="wrap-anywhere text-muted text-small">{email}</p>
          </div>
          <p className="w-20 text-small">
            {t(`settings.role.${role}`)}
            {is_disabled ? (
              <span className="block text-bad">{t('adminAccount.disabled')}</span>
            ) : null}
          </p>
          <p
            className={`flex w-42 items-center gap-1.5 text-small ${hasFactor ? 'text-ok' : 'text-muted'}`}
          >
            {hasFactor ? (
              <ShieldCheck size={15} aria-hidden className="shrink-0" />
            ) : (
              <ShieldAlert size={15} aria-hidden className="shrink-0" />
            )}
            {hasFactor ? t('adminAccount.factor') : t('adminAccount.noFactor')}
          </p>
        </li>
      ))}
    </ul>
  )
}
