import { BookOpen, CircleUserRound, FlaskConical, Menu } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { ACCOUNT_MENU, AccountMenu, ModeSwitch } from '#components/nav/account-menu.tsx'
import { type NavEntry, navEntriesOf } from '#components/nav/entries.ts'
import { NavLink } from '#components/nav/links.tsx'
import { ViewingBanner } from '#components/nav/session.tsx'
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

interface RailProps {
  main: NavEntry[]
  more: NavEntry[]
  mode: Mode | undefined
  name: string
}

const ROW_CLASS =
  'flex min-h-10 w-full items-center gap-3 rounded-control px-2.5 text-left max-rail:justify-center'
const QUIET_CLASS =
  'font-medium text-muted transition-colors duration-150 hover:bg-sunk hover:text-ink'
const LINK_CLASS = `${ROW_CLASS} ${QUIET_CLASS} aria-[current]:bg-accent-soft aria-[current]:font-semibold aria-[current]:text-accent`

/** A name beside an icon: hidden where the rail is narrow. */
const NAME_CLASS = 'max-rail:sr-only'

function Rail({ main, more, mode, name }: RailProps) {
  const t = useTranslations('nav')
  const link = ({ name: key, href, excludedPath, icon: Icon }: NavEntry) => (
    <NavLink
      key={key}
      href={href}
      excludedPath={excludedPath}
      icon={<Icon size={18} strokeWidth={1.8} aria-hidden />}
      className={LINK_CLASS}
      title={t(`place.${key}`)}
    >
      <span className={NAME_CLASS}>{t(`place.${key}`)}</span>
    </NavLink>
  )
  return (
    <header className="fixed inset-y-0 left-0 hidden w-17 flex-col overflow-y-auto border-line border-r bg-paper px-2.5 pt-7 pb-4 md:flex rail:w-59 rail:px-3.5 print:hidden">
      <div className="px-2.5 max-rail:px-3">
        <Logo size={24} nameClass={NAME_CLASS} />
      </div>
      <nav aria-label={t('places')} className="mt-6 mb-4 grid gap-0.5">
        {main.map(link)}
        <div aria-hidden className="mx-2.5 my-3.5 max-rail:my-2 border-line border-t" />
        {more.slice(0, -1).map(link)}
        <a href="/docs" title={t('place.docs')} className={LINK_CLASS}>
          <BookOpen size={18} strokeWidth={1.8} aria-hidden />
          <span className={NAME_CLASS}>{t('place.docs')}</span>
        </a>
        {more.slice(-1).map(link)}
      </nav>
      <div className="mt-auto grid grid-cols-[minmax(0,1fr)] gap-1.5">
        {mode ? <ModeSwitch mode={mode} /> : null}
        <button
          type="button"
          popoverTarget={ACCOUNT_MENU}
          title={name}
          className={`${ROW_CLASS} ${QUIET_CLASS}`}
        >
          <CircleUserRound size={18} strokeWidth={1.8} aria-hidden className="shrink-0" />
          <span className={`truncate ${NAME_CLASS}`}>{name}</span>
        </button>
      </div>
    </header>
  )
}
