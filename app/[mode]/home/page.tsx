import { Landmark, Plus } from 'lucide-react'
import type { Metadata } from 'next'
import { cookies } from 'next/headers'
import Link from 'next/link'
import { useNow, useTimeZone, useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { FirstSteps } from '#app/[mode]/home/first-steps.tsx'
import { LiveHome } from '#app/[mode]/home/live-home.tsx'
import { LiveRequest } from '#app/[mode]/home/live-request.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { accountQueries } from '#components/queries/account.ts'
import { withdrawalQueries } from '#components/queries/withdrawals.ts'
import { LiveWaitingNotice } from '#components/status/waiting.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { readLiveRequest } from '#lib/accounts/connections.ts'
import { dateFormat } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import { readFirstSteps, readHome } from '#lib/dashboard/home.ts'
import { FIRST_STEPS, FIRST_STEPS_COOKIE, type SearchParams } from '#lib/dashboard/schema.ts'
import { listWaiting } from '#lib/dashboard/timeline.ts'
import { hasPermissionNow } from '#lib/people/roles.ts'
import {
  chooseAccount,
  hideFromViewer,
  isModeOpen,
  requireMode,
  requireUser,
} from '#lib/session/gate.ts'
import type { SessionAccount, SessionUser } from '#lib/session/schema.ts'

const NAMESPACES = [
  'balance',
  'books',
  'home',
  'chart',
  'steps',
  'charges',
  'chargeStatus',
  'approvals',
] as const

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('nav'))('place.home') }
}

interface HomePageProps {
  params: Promise<{ mode: string }>
  searchParams: Promise<SearchParams>
}

export default async function HomePage({ params, searchParams }: HomePageProps) {
  const mode = requireMode((await params).mode)
  const user = await requireUser()
  const account = await chooseAccount(user)
  if (account && isModeOpen(mode, account)) {
    return <AccountHome {...{ account, mode }} user={user} search={await searchParams} />
  }
  return (
    <>
      <h1 className="mb-6 truncate text-head max-md:sr-only">
        <Greeting name={user.name} />
      </h1>
      {account ? <LiveModeClosed account={account} /> : <NoAccount />}
    </>
  )
}

interface AccountHomeProps {
  account: SessionAccount
  mode: Mode
  user: SessionUser
  search: SearchParams
}

async function AccountHome({ account, mode, user, search }: AccountHomeProps) {
  const isHidden = mode !== 'test' || (await cookies()).get(FIRST_STEPS_COOKIE)?.value === 'hidden'
  const [t, home, steps, waiting] = await Promise.all([
    getTranslations(),
    readHome(account, mode, search),
    isHidden || !hasPermissionNow(account, 'tokens:write')
      ? null
      : readFirstSteps(account.id, mode),
    listWaiting(account.id, mode, user.id),
  ])
  const { PUBLIC_URL, TROCO_ENV } = env()
  const reader = readerFor(mode, user, account)
  const query = chartQuery(search)
  return (
    <>
      {/* On phones, the page starts with the balance. */}
      <div className="max-lg:sr-only">
        <PageHead title={<Greeting name={user.name} />}>
          <IfAllowed permission="transactions:write">
            <Link
              href={`/${mode}/charges/new`}
              prefetch={false}
              className={`${buttonClass('primary')} max-lg:hidden`}
            >
              <Plus size={18} aria-hidden />
              {t('home.newCharge')}
            </Link>
          </IfAllowed>
        </PageHead>
      </div>
      <ClientMessages namespaces={[...NAMESPACES]}>
        <Prefetched
          seeds={[
            seed(withdrawalQueries.waiting(reader), hideFromViewer(user, waiting)),
            seed(accountQueries.home(reader, query), hideFromViewer(user, home)),
            ...(steps ? [seed(accountQueries.steps(reader), steps)] : []),
          ]}
        >
          <LiveWaitingNotice />
          <LiveHome query={query} key={account.id}>
            {steps && FIRST_STEPS.some(step => !steps[step]) ? (
              <FirstSteps origin={PUBLIC_URL} isLocal={TROCO_ENV === 'local'} />
            ) : null}
          </LiveHome>
        </Prefetched>
      </ClientMessages>
    </>
  )
}

function chartQuery(search: SearchParams) {
  const read = (name: string) => (typeof search[name] === 'string' ? search[name] : undefined)
  return { period: read('period'), from: read('from'), to: read('to') }
}

async function LiveModeClosed({ account }: { account: SessionAccount }) {
  const [t, steps, requestedAt] = await Promise.all([
    getTranslations('live'),
    readFirstSteps(account.id, 'test'),
    readLiveRequest(account.id),
  ])
  return (
    <Sheet className="px-4 py-6 md:px-7 md:py-7">
      <Landmark size={22} strokeWidth={1.8} aria-hidden className="text-muted" />
      <h2 className="mt-3 text-title">{t('title')}</h2>
      <p className="mt-1.5 mb-5 max-w-[60ch] text-muted">{t('text')}</p>
      <ClientMessages namespaces={['live']}>
        <LiveRequest tried={steps} isRequested={requestedAt !== null}>
          <Link href="/test/home" prefetch={false} className={buttonClass('quiet')}>
            {t('back')}
          </Link>
        </LiveRequest>
      </ClientMessages>
    </Sheet>
  )
}

async function NoAccount() {
  const t = await getTranslations('noAccount')
  return (
    <Sheet className="px-4 py-6 md:px-7 md:py-7">
      <h2 className="text-title">{t('title')}</h2>
      <p className="mt-1.5 max-w-[60ch] text-muted">{t('text')}</p>
      {env().SIGNUPS === 'open' ? (
        <Link href="/signup" prefetch={false} className={`${buttonClass('quiet')} mt-5`}>
          {t('open')}
        </Link>
      ) : null}
    </Sheet>
  )
}

function Greeting({ name }: { name: string }) {
  const t = useTranslations('greeting')
  const format = dateFormat('en', {
    hour: 'numeric',
    hourCycle: 'h23',
    timeZone: useTimeZone(),
  })
  const hour = Number(format.format(useNow()))
  const partOfDay = hour < 5 || hour >= 18 ? 'evening' : hour < 12 ? 'morning' : 'afternoon'
  // A member invited by e-mail has no name yet.
  const firstName = name.includes('@') ? '' : (name.split(/\s+/)[0] ?? '')
  return firstName ? t('named', { greeting: t(partOfDay), name: firstName }) : t(partOfDay)
}
