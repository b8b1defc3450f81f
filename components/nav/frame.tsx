import {
  Activity,
  ArrowLeftRight,
  ArrowUpRight,
  BookOpen,
  Building2,
  ChartLine,
  CircleUserRound,
  FlaskConical,
  History,
  House,
  KeyRound,
  Landmark,
  type LucideIcon,
  Menu,
  Plus,
  QrCode,
  Route,
  Scale,
  ScrollText,
  Settings2,
  ShieldAlert,
  ShieldCheck,
  Store,
  Users,
  Webhook,
} from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { NavLink, SearchButton } from '#components/nav/links.tsx'
import { PreferenceSwitches } from '#components/nav/preference-switches.tsx'
import { AccountSwitch, SignOutButton, ViewingBanner } from '#components/nav/session.tsx'
import { StaffCount, type StaffSection } from '#components/nav/staff-tasks.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { Chip } from '#components/ui/chip.tsx'
import { Logo } from '#components/ui/logo.tsx'
import type { Mode } from '#lib/core/mode.ts'
import { hasPermissionNow } from '#lib/people/roles.ts'
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
  const { main, more, phone } = mode ? navEntriesOf(user, account, mode) : staffEntries(account)
  const name = account?.name ?? user.name
  const hasSearch = account !== null || user.isAdmin
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
      <Rail main={main} more={more} mode={mode} name={name} hasSearch={hasSearch} />
      <header className="sticky top-0 z-30 flex h-15 items-center gap-3 bg-paper px-4 pt-1 md:hidden print:hidden">
        <Logo size={21} />
        {mode === 'test' ? (
          <Chip tone="test" icon={FlaskConical}>
            {t('test')}
          </Chip>
        ) : mode ? null : (
          <span className="font-semibold text-muted text-small">{t('admin')}</span>
        )}
        {hasSearch ? (
          <div className="ml-auto">
            <SearchButton />
          </div>
        ) : null}
      </header>
      <main
        id="content"
        tabIndex={-1}
        className="px-4 pt-1 pb-28 outline-none md:ml-22 rail:ml-59 md:px-8 md:pt-9 md:pb-16 lg:px-10 print:m-0 print:p-0"
      >
        {user.viewing && account ? (
          <ViewingBanner viewing={user.viewing} accountName={account.name} />
        ) : null}
        <div className="max-w-[1180px]">{children}</div>
      </main>
      <BottomBar entries={phone} menuEntries={menuEntries} />
      <AccountMenu user={user} account={account} name={name} mode={mode} entries={menuEntries} />
    </>
  )
}

interface BottomBarProps {
  entries: NavEntry[]
  /** Entries that the last button leads to. */
  menuEntries: NavEntry[]
}

const ITEM_CLASS =
  'relative flex min-w-0 flex-1 flex-col items-center justify-center gap-1 font-semibold text-[11.5px] text-muted aria-[current]:text-accent'

function BottomBar({ entries, menuEntries }: BottomBarProps) {
  const t = useTranslations('nav')
  return (
    <nav
      aria-label={t('places')}
      className="fixed inset-x-0 bottom-0 z-30 flex h-[calc(60px+env(safe-area-inset-bottom))] border-line border-t bg-surface pb-[env(safe-area-inset-bottom)] md:hidden print:hidden"
    >
      {entries.map(({ name, href, excludedPath, isExact, icon: Icon, section }) => (
        <NavLink
          key={name}
          href={href}
          excludedPath={excludedPath}
          isExact={isExact}
          icon={<Icon size={19} strokeWidth={1.8} aria-hidden />}
          className={ITEM_CLASS}
        >
          {t(`place.${name}`)}
          {section ? <StaffCount sections={[section]} className={ON_ICON_CLASS} /> : null}
        </NavLink>
      ))}
      <button type="button" popoverTarget={ACCOUNT_MENU} className={ITEM_CLASS}>
        <Menu size={19} strokeWidth={1.8} aria-hidden />
        {t('more')}
        <SectionsCount entries={menuEntries} />
      </button>
    </nav>
  )
}

function SectionsCount({ entries }: { entries: NavEntry[] }) {
  const sections = entries.flatMap(({ section }): StaffSection[] => (section ? [section] : []))
  return sections.length > 0 ? <StaffCount sections={sections} className={ON_ICON_CLASS} /> : null
}

interface RailProps {
  main: NavEntry[]
  more: NavEntry[]
  mode: Mode | undefined
  name: string
  hasSearch: boolean
}

/** A count beside the icon of an item whose name is below it. */
const ON_ICON_CLASS = 'absolute top-1 left-1/2 ml-1.5'

/** In the narrow rail, the name stands below the icon. */
const ROW_CLASS =
  'relative flex w-full items-center rounded-control rail:min-h-10 rail:gap-3 rail:px-2.5 rail:text-left max-rail:flex-col max-rail:gap-0.5 max-rail:px-0.5 max-rail:py-1.5 max-rail:text-center max-rail:text-[11px] max-rail:leading-[14px]'
const QUIET_CLASS =
  'font-medium text-muted transition-colors duration-150 hover:bg-sunk hover:text-ink'
const LINK_CLASS = `${ROW_CLASS} ${QUIET_CLASS} aria-[current]:bg-accent-soft aria-[current]:font-semibold aria-[current]:text-accent`

function Rail({ main, more, mode, name, hasSearch }: RailProps) {
  const t = useTranslations('nav')
  const link = ({ name: key, href, excludedPath, isExact, icon: Icon, section }: NavEntry) => (
    <NavLink
      key={key}
      href={href}
      excludedPath={excludedPath}
      isExact={isExact}
      icon={<Icon size={18} strokeWidth={1.8} aria-hidden />}
      className={LINK_CLASS}
    >
      <span className="max-w-full break-words">{t(`place.${key}`)}</span>
      {section ? (
        <StaffCount
          sections={[section]}
          className="ml-auto max-rail:absolute max-rail:top-0 max-rail:left-1/2 max-rail:ml-1.5"
        />
      ) : null}
    </NavLink>
  )
  return (
    <header className="fixed inset-y-0 left-0 hidden w-22 flex-col overflow-y-auto border-line border-r bg-paper px-1.5 pt-6 pb-4 md:flex rail:w-59 rail:px-3.5 rail:pt-7 print:hidden">
      <div className="rail:px-2.5 max-rail:mx-auto max-rail:text-center">
        <Logo size={24} nameClass="max-rail:sr-only" />
        {mode ? null : (
          <p className="mt-1.5 font-semibold text-muted text-small max-rail:text-[11px]">
            {t('admin')}
          </p>
        )}
      </div>
      {hasSearch ? (
        <div className="mt-5 max-rail:mx-auto max-rail:mt-4">
          <SearchButton />
        </div>
      ) : null}
      <nav aria-label={t('places')} className="mt-4 mb-4 grid gap-0.5">
        {main.map(link)}
        <div aria-hidden className="mx-2.5 my-3.5 max-rail:my-2 border-line border-t" />
        {more.slice(0, -1).map(link)}
        <a href="/docs" className={LINK_CLASS}>
          <BookOpen size={18} strokeWidth={1.8} aria-hidden />
          <span className="max-w-full break-words">{t('place.docs')}</span>
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
          <span className="max-w-full truncate">{name}</span>
        </button>
      </div>
    </header>
  )
}

const ACCOUNT_MENU = 'account-menu'

interface AccountMenuProps {
  user: SessionUser
  account: SessionAccount | null
  name: string
  mode: Mode | undefined
  /** Entries that are not in the bottom bar on phones. */
  entries: NavEntry[]
}

function AccountMenu({ user, account, name, mode, entries }: AccountMenuProps) {
  const t = useTranslations('nav')
  return (
    <div
      id={ACCOUNT_MENU}
      popover="auto"
      role="dialog"
      aria-label={t('account')}
      className="fixed inset-x-2 top-auto bottom-[calc(68px+env(safe-area-inset-bottom))] m-0 max-h-[80dvh] w-auto overflow-y-auto rounded-sheet border border-line bg-surface p-2 text-ink shadow-over md:inset-x-auto md:bottom-[60px] md:left-3.5 md:w-72"
    >
      <div className="px-2.5 pt-2 pb-3">
        <p className="truncate font-semibold" title={name}>
          {name}
        </p>
        <p className="truncate text-muted text-small" title={user.email}>
          {user.email}
        </p>
      </div>
      {account && user.accounts.length > 1 ? (
        <AccountSwitch
          accounts={user.accounts.map(({ id, name }) => ({ id, name }))}
          chosenId={account.id}
          label={t('switchAccount')}
        />
      ) : null}
      {mode ? (
        <div className="mb-2 md:hidden">
          <ModeSwitch mode={mode} />
        </div>
      ) : null}
      <div className="grid grid-cols-2 border-line border-t py-2 md:hidden">
        {entries.map(({ name: key, href, excludedPath, isExact, icon: Icon, section }) => (
          <NavLink
            key={key}
            href={href}
            excludedPath={excludedPath}
            isExact={isExact}
            icon={<Icon size={16} aria-hidden />}
            className={`${buttonClass('plain')} aria-[current]:text-accent`}
          >
            {t(`place.${key}`)}
            {section ? <StaffCount sections={[section]} className="ml-auto" /> : null}
          </NavLink>
        ))}
        <a href="/docs" className={buttonClass('plain')}>
          <BookOpen size={16} aria-hidden />
          {t('place.docs')}
        </a>
      </div>
      <div className="border-line border-t py-2">
        <NavLink
          href={`/${mode ?? 'test'}/settings/security`}
          icon={<ShieldCheck size={16} aria-hidden />}
          className={`${buttonClass('plain')} aria-[current]:text-accent`}
        >
          {t('security')}
        </NavLink>
      </div>
      <div className="border-line border-t py-2">
        <PreferenceSwitches />
      </div>
      <div className="border-line border-t pt-2">
        <SignOutButton label={t('signOut')} retryLabel={t('signOutFailed')} />
      </div>
    </div>
  )
}

const OTHER_MODE = { test: 'live', live: 'test' } as const
const MODE_STYLES = {
  test: { text: 'text-test', track: 'bg-test', knob: 'translate-x-[14px]' },
  live: { text: 'text-muted', track: 'bg-faint', knob: 'translate-x-0' },
}

function ModeSwitch({ mode }: { mode: Mode }) {
  const t = useTranslations('nav')
  const { text, track, knob } = MODE_STYLES[mode]
  return (
    <Link
      href={`/${OTHER_MODE[mode]}/home`}
      prefetch={false}
      className="flex min-h-10 items-center gap-3 rounded-control border border-line2 px-2.5 transition-colors duration-150 hover:bg-sunk md:max-rail:flex-col md:max-rail:gap-0.5 md:max-rail:px-0.5 md:max-rail:py-1.5 md:max-rail:text-center"
      title={t(`mode.${mode}`)}
    >
      <FlaskConical size={18} strokeWidth={1.8} aria-hidden className={text} />
      <span
        className={`font-semibold text-small md:max-rail:text-[11px] md:max-rail:leading-[14px] ${text}`}
      >
        {t(`mode.${mode}`)}
      </span>
      <span className="sr-only">{t(`modeOther.${mode}`)}</span>
      <span
        aria-hidden
        className={`ml-auto h-5 w-[34px] rounded-chip p-[3px] md:max-rail:hidden ${track}`}
      >
        <span className={`block size-[14px] rounded-chip bg-surface ${knob}`} />
      </span>
    </Link>
  )
}

type NavName =
  | StaffSection
  | 'home'
  | 'charges'
  | 'new'
  | 'withdrawals'
  | 'statement'
  | 'webhooks'
  | 'requests'
  | 'tokens'
  | 'bank'
  | 'disputes'
  | 'settings'
  | 'admin'
  | 'merchant'

export interface NavEntry {
  name: NavName
  href: string
  icon: LucideIcon
  excludedPath?: string
  /** Current only at `href` itself. */
  isExact?: boolean
  section?: StaffSection
}

interface NavEntries {
  main: NavEntry[]
  more: NavEntry[]
  /** Entries in the bottom bar on phones. The last button of the bar opens the rest. */
  phone: NavEntry[]
}

/** Returns the entries that a user may open, in the order of the rail. */
export function navEntriesOf(
  user: SessionUser,
  account: SessionAccount | null,
  mode: Mode,
): NavEntries {
  const basePath = `/${mode}`
  const home: NavEntry = { name: 'home', href: `${basePath}/home`, icon: House }
  const newCharge = `${basePath}/charges/new`
  const charges: NavEntry = {
    name: 'charges',
    href: `${basePath}/charges`,
    icon: QrCode,
    excludedPath: newCharge,
  }
  const withdrawals: NavEntry = {
    name: 'withdrawals',
    href: `${basePath}/withdrawals`,
    icon: ArrowUpRight,
  }
  const admin: NavEntry[] = user.isAdmin ? [{ name: 'admin', href: '/admin', icon: Building2 }] : []
  if (!account) {
    const main = user.isAdmin ? admin : [home]
    return { main, more: [], phone: main }
  }
  const tokens = `${basePath}/settings/tokens`
  const receives = mode === 'test' || account.receivingConnectionId !== null
  const create: NavEntry[] = hasPermissionNow({ ...account, receives }, 'transactions:write')
    ? [{ name: 'new', href: newCharge, icon: Plus }]
    : []
  return {
    main: [
      home,
      { ...charges, excludedPath: undefined },
      withdrawals,
      { name: 'statement', href: `${basePath}/statement`, icon: ScrollText },
      { name: 'webhooks', href: `${basePath}/webhooks`, icon: Webhook },
      { name: 'requests', href: `${basePath}/requests`, icon: ArrowLeftRight },
      ...admin,
    ],
    more: [
      { name: 'tokens', href: tokens, icon: KeyRound },
      { name: 'disputes', href: `${basePath}/disputes`, icon: ShieldAlert },
      ...(mode === 'test' ? [{ name: 'bank', href: '/test/bank', icon: Landmark } as const] : []),
      { name: 'settings', href: `${basePath}/settings`, icon: Settings2, excludedPath: tokens },
    ],
    phone: [home, charges, ...create, withdrawals],
  }
}

/** In the order of the rail. */
const STAFF_PLACES: Record<StaffSection, Pick<NavEntry, 'href' | 'icon' | 'isExact'>> = {
  overview: { href: '/admin', icon: ChartLine, isExact: true },
  accounts: { href: '/admin/accounts', icon: Building2 },
  banks: { href: '/admin/banks', icon: Landmark },
  reconciliation: { href: '/admin/reconciliation', icon: Scale },
  staffDisputes: { href: '/admin/disputes', icon: ShieldAlert },
  health: { href: '/admin/health', icon: Activity },
  people: { href: '/admin/people', icon: Users },
  staffTokens: { href: '/admin/tokens', icon: KeyRound },
  audit: { href: '/admin/audit', icon: History },
  trace: { href: '/admin/trace', icon: Route },
}

/** Returns the entries of the operator's pages. */
function staffEntries(account: SessionAccount | null): NavEntries {
  const entryOf = (name: StaffSection) => ({ name, section: name, ...STAFF_PLACES[name] })
  return {
    main: (Object.keys(STAFF_PLACES) as StaffSection[]).map(entryOf),
    more: account ? [{ name: 'merchant', href: '/test/home', icon: Store }] : [],
    phone: (['overview', 'accounts', 'reconciliation', 'health'] as const).map(entryOf),
  }
}
