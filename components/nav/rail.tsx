import { BookOpen, CircleUserRound } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { ACCOUNT_MENU, ModeSwitch } from '#components/nav/account-menu.tsx'
import type { NavEntry } from '#components/nav/entries.ts'
import { NavLink } from '#components/nav/nav-link.tsx'
import { Logo } from '#components/ui/logo.tsx'
import type { Mode } from '#lib/core/mode.ts'

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

export function Rail({ main, more, mode, name }: RailProps) {
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
