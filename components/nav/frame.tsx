import { FlaskConical, Menu } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { ACCOUNT_MENU, AccountMenu } from '#components/nav/account-menu.tsx'
import { type NavEntry, navEntriesOf } from '#components/nav/entries.ts'
import { NavLink } from '#components/nav/nav-link.tsx'
import { Rail } from '#components/nav/rail.tsx'
import { ViewingBanner } from '#components/nav/viewing-banner.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { Logo } from '#components/ui/logo.tsx'
import type { Mode } from '#lib/core/mode.ts'
import type { SessionAccount, SessionUser } from '#lib/session/schema.ts'

interface FrameProps {
  user: SessionUser
  /** Null for an operator who belongs to no account. */
  account: SessionAccount | null
  /** Absent on the operator's pages, which have no mode. */
  mode?: Mode
  children: ReactNode
}

export function Frame({ user, account, mode, children }: FrameProps) {
  const t = useTranslations('nav')
  const { main, more, phone } = navEntriesOf(user, account, mode ?? 'test')
  const name = account?.name ?? user.name
  const menuEntries = [...main, ...more].filter(
    ({ href }) => !phone.some(entry => entry.href === href),
  )
  return (
    <>
      <a
        href="#content"
        className="-translate-y-20 print:hidden fixed top-3 left-3 z-50 rounded-control bg-accent px-4 py-2 font-semibold text-on-accent focus:translate-y-0"
      >
        {t('skip')}
      </a>
      {mode === 'test' ? (
        <div aria-hidden className="fixed inset-x-0 top-0 z-40 h-1 bg-test print:hidden" />
      ) : null}
      <Rail main={main} more={more} mode={mode} name={name} />
      <header className="flex h-15 items-center justify-between px-4 pt-1 md:hidden print:hidden">
        <Logo size={21} />
        {mode === 'test' ? (
          <Chip tone="test" icon={FlaskConical}>
            {t('test')}
          </Chip>
        ) : null}
      </header>
      <main
        id="content"
        tabIndex={-1}
        className="px-4 pt-1 pb-28 outline-none md:ml-17 rail:ml-59 md:px-8 md:pt-9 md:pb-16 lg:px-10 print:m-0 print:p-0"
      >
        {user.viewing && account ? (
          <ViewingBanner viewing={user.viewing} accountName={account.name} />
        ) : null}
        <div className="max-w-[1180px]">{children}</div>
      </main>
      <BottomBar entries={phone} menu={ACCOUNT_MENU} />
      <AccountMenu user={user} account={account} name={name} mode={mode} entries={menuEntries} />
    </>
  )
}

interface BottomBarProps {
  entries: NavEntry[]
  menu: string
}

const ITEM_CLASS =
  'flex min-w-0 flex-1 flex-col items-center justify-center gap-1 font-semibold text-[11.5px] text-muted aria-[current]:text-accent'

function BottomBar({ entries, menu }: BottomBarProps) {
  const t = useTranslations('nav')
  return (
    <nav
      aria-label={t('places')}
      className="fixed inset-x-0 bottom-0 z-30 flex h-[calc(60px+env(safe-area-inset-bottom))] border-line border-t bg-surface pb-[env(safe-area-inset-bottom)] md:hidden print:hidden"
    >
      {entries.map(({ name, href, excludedPath, icon: Icon }) => (
        <NavLink
          key={name}
          href={href}
          excludedPath={excludedPath}
          icon={<Icon size={19} strokeWidth={1.8} aria-hidden />}
          className={ITEM_CLASS}
        >
          {t(`place.${name}`)}
        </NavLink>
      ))}
      <button type="button" popoverTarget={menu} className={ITEM_CLASS}>
        <Menu size={19} strokeWidth={1.8} aria-hidden />
        {t('more')}
      </button>
    </nav>
  )
}
