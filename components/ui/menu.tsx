'use client'

import { type ComponentType, cloneElement, type KeyboardEvent, useState } from 'react'
import type { MenuProps } from '#components/ui/menu-content.tsx'

const loadMenu = () => import('#components/ui/menu-content.tsx')
const preload = () => void loadMenu().catch(() => {})

/** A choice of one value. Its scripts are loaded when its button is first pointed at, focused or used. */
export function Menu({ align = 'end', ...rest }: MenuProps) {
  const [Opened, setOpened] = useState<ComponentType<MenuProps> | null>(null)
  if (Opened) return <Opened align={align} {...rest} />
  const open = () =>
    loadMenu().then(
      ({ OpenedMenu }) => setOpened(() => OpenedMenu),
      () => {},
    )
  return cloneElement(rest.trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerEnter: preload,
    onFocus: preload,
    onClick: open,
    onKeyDown: (event: KeyboardEvent) => event.key === 'ArrowDown' && open(),
  })
}
