import { CircleAlert, Clock, Landmark } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { Balance } from '#components/balance.tsx'
import { FirstCharge } from '#components/first-charge.tsx'
import { Greeting } from '#components/greeting.tsx'
import { KeepFresh } from '#components/keep-fresh.tsx'
import { Frame } from '#components/nav/frame.tsx'
import { RecentCharges } from '#components/recent-charges.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { Notice } from '#components/ui/notice.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { listCharges } from '#lib/charges/queries.ts'
import { env } from '#lib/env.ts'
import { readBalances } from '#lib/ledger/accounts.ts'
import { MODES } from '#lib/mode.ts'
import { requireUser } from '#lib/session/gate.ts'
import type { SessionAccount } from '#lib/session/schema.ts'

const CHARGES_SHOWN = 8

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('nav'))('place.home') }
}

export default async function HomePage({ params }: { params: Promise<{ mode: string }> }) {
  const { mode: wanted } = await params
  const mode = MODES.find(known => known === wanted) ?? notFound()
  const user = await requireUser()
  const [account] = user.accounts
  return (
    <Frame user={user} place="home" mode={mode}>
      <Greeting name={user.name} />
      {!account ? (
        <NoAccount />
      ) : mode === 'live' ? (
        <LiveClosed />
      ) : (
        <TestWorld account={account} />
      )}
    </Frame>
  )
}

async function TestWorld({ account }: { account: SessionAccount }) {
  const [t, balances, charges] = await Promise.all([
    getTranslations(),
    readBalances(account.id, 'test'),
    listCharges(account.id, 'test', { limit: CHARGES_SHOWN }),
  ])
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6 md:gap-8">
      {account.status === 'active' ? null : (
        <Notice
          tone={account.status === 'pending' ? 'wait' : 'bad'}
          icon={account.status === 'pending' ? Clock : CircleAlert}
        >
          {t(`accountNotice.${account.status}`)}
        </Notice>
      )}
      <Balance {...balances} />
      <section>
        <h2 className="mb-2.5 text-title">{t('charges.recent')}</h2>
        {charges.rows.length > 0 ? (
          <RecentCharges charges={charges.rows} />
        ) : (
          <FirstCharge origin={env().PUBLIC_URL} />
        )}
      </section>
      <KeepFresh />
    </div>
  )
}

async function LiveClosed() {
  const t = await getTranslations('live')
  return (
    <Sheet className="px-4 py-6 md:px-7 md:py-7">
      <Landmark size={22} strokeWidth={1.8} aria-hidden className="text-muted" />
      <h2 className="mt-3 text-title">{t('title')}</h2>
      <p className="mt-1.5 mb-5 max-w-[60ch] text-muted">{t('text')}</p>
      <Link href="/test/home" prefetch={false} className={buttonClass('quiet')}>
        {t('back')}
      </Link>
    </Sheet>
  )
}

async function NoAccount() {
  const t = await getTranslations('noAccount')
  return (
    <Sheet className="px-4 py-6 md:px-7 md:py-7">
      <h2 className="text-title">{t('title')}</h2>
      <p className="mt-1.5 max-w-[60ch] text-muted">{t('text')}</p>
    </Sheet>
  )
}
