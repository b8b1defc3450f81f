import { BookOpen, CircleUserRound } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { Mark } from '#components/mark.tsx'
import { ACCOUNT_MENU } from '#components/nav/account-menu.tsx'
import { ModeSwitch } from '#components/nav/mode-switch.tsx'
import type { Place, PlaceName } from '#components/nav/places.ts'
import type { Mode } from '#lib/mode.ts'

interface RailProps {
  places: Place[]
  place: PlaceName
  mode: Mode | undefined
  name: string
}

const ROW = 'flex min-h-10 w-full items-center gap-3 rounded-control px-2.5 text-left'
const QUIET = 'font-medium text-muted transition-colors duration-150 hover:bg-sunk hover:text-ink'

/** The desktop's navigation; a phone has the bottom bar. */
export function Rail({ places, place, mode, name }: RailProps) {
  const t = useTranslations('nav')
  return (
    <header className="fixed inset-y-0 left-0 hidden w-59 flex-col border-line border-r bg-paper px-3.5 pt-7 pb-4 md:flex">
      <div className="px-2.5">
        <Mark size={24} />
      </div>
      <nav aria-label={t('places')} className="mt-6 grid gap-0.5">
        {places.map(({ name: key, href, icon: Icon }) => (
          <Link
            key={key}
            href={href}
            prefetch={false}
            aria-current={key === place ? 'page' : undefined}
            className={`${ROW} ${QUIET} aria-[current]:bg-accent-soft aria-[current]:font-semibold aria-[current]:text-accent`}
          >
            <Icon size={18} strokeWidth={1.8} aria-hidden />
            {t(`place.${key}`)}
          </Link>
        ))}
        <a
          href="/docs"
          className={`${ROW} ${QUIET} relative mt-6 before:absolute before:inset-x-2.5 before:-top-3.5 before:border-line before:border-t`}
        >
          <BookOpen size={18} strokeWidth={1.8} aria-hidden />
          {t('docs')}
        </a>
      </nav>
      <div className="mt-auto grid grid-cols-[minmax(0,1fr)] gap-1.5">
        {mode ? <ModeSwitch mode={mode} /> : null}
        <button type="button" popoverTarget={ACCOUNT_MENU} className={`${ROW} ${QUIET}`}>
          <CircleUserRound size={18} strokeWidth={1.8} aria-hidden className="shrink-0" />
          <span className="truncate" title={name}>
            {name}
          </span>
        </button>
      </div>
    </header>
  )
}
