import { BookOpen, FlaskConical, ShieldCheck } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import type { NavEntry } from '#components/nav/entries.ts'
import { NavLink } from '#components/nav/links.tsx'
import { PreferenceSwitches } from '#components/nav/preference-switches.tsx'
import { AccountSwitch, SignOutButton } from '#components/nav/session.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import type { Mode } from '#lib/core/mode.ts'
import type { SessionAccount, SessionUser } from '#lib/session/schema.ts'

export const ACCOUNT_MENU = 'account-menu'

interface AccountMenuProps {
  user: SessionUser
  account: SessionAccount | null
  name: string
  mode: Mode | undefined
  /** Entries that are not in the bottom bar on phones. */
  entries: NavEntry[]
}

export function AccountMenu({ user, account, name, mode, entries }: AccountMenuProps) {
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
        {entries.map(({ name: key, href, excludedPath, icon: Icon }) => (
          <NavLink
            key={key}
            href={href}
            excludedPath={excludedPath}
            icon={<Icon size={16} aria-hidden />}
            className={`${buttonClass('plain')} aria-[current]:text-accent`}
          >
            {t(`place.${key}`)}
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

export function ModeSwitch({ mode }: { mode: Mode }) {
  const t = useTranslations('nav')
  const { text, track, knob } = MODE_STYLES[mode]
  return (
    <Link
      href={`/${OTHER_MODE[mode]}/home`}
      prefetch={false}
      className="flex min-h-10 items-center gap-3 rounded-control border border-line2 px-2.5 transition-colors duration-150 hover:bg-sunk md:max-rail:justify-center"
      title={t(`mode.${mode}`)}
    >
      <FlaskConical size={18} strokeWidth={1.8} aria-hidden className={text} />
      <span className={`font-semibold text-small md:max-rail:sr-only ${text}`}>
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
