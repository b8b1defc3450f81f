import { Menu } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import type { Place, PlaceName } from '#components/nav/places.ts'

interface BottomBarProps {
  places: Place[]
  place: PlaceName
  menu: string
}

const ITEM =
  'flex flex-1 flex-col items-center justify-center gap-1 font-semibold text-[11.5px] text-muted aria-[current]:text-accent'

/** The phone's navigation. */
export function BottomBar({ places, place, menu }: BottomBarProps) {
  const t = useTranslations('nav')
  return (
    <nav
      aria-label={t('places')}
      className="fixed inset-x-0 bottom-0 z-30 flex h-[calc(60px+env(safe-area-inset-bottom))] border-line border-t bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {places.map(({ name, href, icon: Icon }) => (
        <Link
          key={name}
          href={href}
          prefetch={false}
          aria-current={name === place ? 'page' : undefined}
          className={ITEM}
        >
          <Icon size={19} strokeWidth={1.8} aria-hidden />
          {t(`place.${name}`)}
        </Link>
      ))}
      <button type="button" popoverTarget={menu} className={ITEM}>
        <Menu size={19} strokeWidth={1.8} aria-hidden />
        {t('more')}
      </button>
    </nav>
  )
}
