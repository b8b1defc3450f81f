import { Ban, Hourglass, Lock, TriangleAlert } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { notFound } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { cache } from 'react'
import { CheckSection, RenewSection } from '#app/admin/banks/[id]/credentials.tsx'
import {
  About,
  BankLimits,
  CloseSection,
  MoneyOutSection,
  MoneySection,
  SettingsSection,
} from '#app/admin/banks/[id]/settings.tsx'
import { TrialSection } from '#app/admin/banks/[id]/trial-section.tsx'
import { BankState } from '#app/admin/banks/bank-facts.tsx'
import { CertificateNotices, NoticesSection } from '#app/admin/banks/notices.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { useDurations } from '#components/format/format.tsx'
import { operatorQueries } from '#components/queries/operator.ts'
import { buttonClass } from '#components/ui/button-class.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { Notice, Section } from '#components/ui/sheet.tsx'
import { readBank } from '#lib/operator/banks/list.ts'
import type { BankDetail } from '#lib/operator/banks/schema.ts'
import { requireAdmin } from '#lib/session/gate.ts'
import { readTrial } from '#lib/trials/trial.ts'

interface BankPageProps {
  params: Promise<{ id: string }>
}

/** Cached per request, because the metadata and the page both read the connection. */
const findBank = cache(async (id: string) => (await readBank(id)) ?? notFound())

export async function generateMetadata({ params }: BankPageProps): Promise<Metadata> {
  await requireAdmin()
  return { title: (await findBank((await params).id)).name }
}

export default async function BankPage({ params }: BankPageProps) {
  const user = await requireAdmin()
  const bank = await findBank((await params).id)
  const t = await getTranslations('banks')
  const isOpen = bank.state !== 'closed'
  const isCallable = isOpen && bank.state !== 'unserved'
  const tried = bank.receiving_keys.length > 0 ? await readTrial(bank.id) : null
  return (
    <ClientMessages
      namespaces={['banks', 'bankForm', 'bankFinding', 'bankAdvice', 'adminDeed', 'settings']}
    >
      <PageHead
        title={<span className="break-words">{bank.name}</span>}
        parent={{ href: '/admin/banks', label: t('title') }}
        state={<BankState bank={bank} />}
      />
      <div className="mb-6 grid gap-3 empty:hidden">
        <StateNotices bank={bank} />
        <CertificateNotices banks={[bank]} />
      </div>
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-[minmax(0,1fr)_minmax(0,380px)]">
        <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-6">
          {bank.closure ? <MoneyOutSection bank={bank} closure={bank.closure} /> : null}
          {isCallable ? (
            <>
              <CheckSection bank={bank} />
              <NoticesSection bank={bank} />
              {bank.can.correct_settings ? <SettingsSection bankId={bank.id} /> : null}
            </>
          ) : null}
          {tried && (isCallable || tried.latest) ? (
            <Prefetched
              seeds={[
                seed(operatorQueries.bankTrial(readerFor('test', user, null), bank.id), tried),
              ]}
            >
              <TrialSection bankId={bank.id} canBegin={isCallable} />
            </Prefetched>
          ) : null}
          {isCallable ? <MoneySection bank={bank} /> : null}
          <Section title={t('accounts.title')} text={isOpen ? t('accounts.text') : undefined}>
            <AssignedAccounts assigned={bank.assigned} />
          </Section>
        </div>
        <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-6">
          <Section title={t('about')}>
            <About bank={bank} />
          </Section>
          {isOpen ? (
            <>
              <Section title={t('limits.title')} text={t('limits.text')}>
                <BankLimits bankId={bank.id} limits={bank.limits} />
              </Section>
              <RenewSection bankId={bank.id} profile={bank.profile} />
            </>
          ) : null}
          <CloseSection bank={bank} />
        </div>
      </div>
    </ClientMessages>
  )
}

/** Why the connection does not work, and what the bank blocks. */
function StateNotices({ bank }: { bank: BankDetail }) {
  const t = useTranslations('banks')
  const tHealth = useTranslations('health')
  const { inWords } = useDurations()
  const { state, name, blocks } = bank
  if (state === 'closed')
    return (
      <Notice tone="wait" icon={Lock}>
        {t('closedText')}
      </Notice>
    )
  if (state === 'unserved')
    return (
      <Notice tone="bad" icon={TriangleAlert}>
        {t('unservedText')}
      </Notice>
    )
  return (
    <>
      {state === 'resting' ? (
        <Notice tone="wait" icon={Hourglass}>
          {t('rest')}
        </Notice>
      ) : null}
      {blocks.map(({ since_s: since, ...block }) => (
        <Notice key={block.operation} tone="bad" icon={Ban}>
          {tHealth('said.gateway_blocks', { name, ...block, since_s: inWords(Math.max(1, since)) })}
        </Notice>
      ))}
    </>
  )
}

function AssignedAccounts({ assigned }: Pick<BankDetail, 'assigned'>) {
  const t = useTranslations('banks')
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      {assigned.length === 0 ? (
        <p className="text-muted">{t('accounts.none')}</p>
      ) : (
        <ul aria-label={t('accounts.title')}>
          {assigned.map(({ id, name, receives, pays }) => (
            <li
              key={id}
              className="flex flex-wrap items-center justify-between gap-x-4 border-line py-2.5 not-first:border-t"
            >
              <Link
                href={`/admin/accounts/${id}`}
                prefetch={false}
                className="min-w-0 truncate font-medium hover:underline"
              >
                {name}
              </Link>
              <span className="text-muted text-small">
                {t(`accounts.${receives && pays ? 'both' : receives ? 'receives' : 'pays'}`)}
              </span>
            </li>
          ))}
        </ul>
      )}
      <div>
        <Link href="/admin/accounts" prefetch={false} className={buttonClass('quiet')}>
          {t('accounts.all')}
        </Link>
      </div>
    </div>
  )
}
