import { Menu } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { NavLink } from '#components/nav/nav-link.tsx'
import type { Place } from '#components/nav/places.ts'

interface BottomBarProps {
  places: Place[]
  menu: string
}

const ITEM =
  'flex min-w-0 flex-1 flex-col items-center justify-center gap-1 font-semibold text-[11.5px] text-muted aria-[current]:text-accent'

/** The phone's navigation. */
export function BottomBar({ places, menu }: BottomBarProps) {
  const t = useTranslations('nav')
  return (
    <nav
      aria-label={t('places')}
      className="fixed inset-x-0 bottom-0 z-30 flex h-[calc(60px+env(safe-area-inset-bottom))] border-line border-t bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {places.map(({ name, href, within, except, icon: Icon }) => (
        <NavLink
          key={name}
          href={href}
          within={within}
          except={except}
          icon={<Icon size={19} strokeWidth={1.8} aria-hidden />}
          className={ITEM}
        >
          {t(`place.${name}`)}
        </NavLink>
      ))}
      <button type="button" popoverTarget={menu} className={ITEM}>
        <Menu size={19} strokeWidth={1.8} aria-hidden />
        {t('more')}
      </button>
    </nav>
  )
}
