'use client'

import {
  type ComponentType,
  cloneElement,
  type KeyboardEvent,
  type MouseEvent,
  useState,
} from 'react'
import type { MenuProps, OpenedMenuProps } from '#components/ui/menu-content.tsx'

const loadMenu = () => import('#components/ui/menu-content.tsx')
const preload = () => void loadMenu().catch(() => {})

interface Opened {
  Menu: ComponentType<OpenedMenuProps>
  isByKeyboard: boolean
}

/** A choice of one value. Its scripts are loaded when its button is first pointed at, focused or used. */
export function Menu({ align = 'end', ...rest }: MenuProps) {
  const [opened, setOpened] = useState<Opened | null>(null)
  if (opened) return <opened.Menu align={align} {...rest} isByKeyboard={opened.isByKeyboard} />
  const open = (isByKeyboard: boolean) =>
    loadMenu().then(
      ({ OpenedMenu }) => setOpened({ Menu: OpenedMenu, isByKeyboard }),
      () => {},
    )
  return cloneElement(rest.trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerEnter: preload,
    onFocus: preload,
    // Enter and space click without a pointer.
    onClick: (event: MouseEvent) => open(event.detail === 0),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== 'ArrowDown') return
      event.preventDefault()
      open(true)
    },
  })
}
