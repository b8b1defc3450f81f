'use client'

import { DropdownMenu } from 'radix-ui'
import { type ComponentProps, type ReactElement, useRef } from 'react'
// Before a dialog is loaded, it must already see which menu opens it.
import '#components/ui/return-focus.ts'

export interface MenuChoices {
  value: string
  choices: { value: string; label: string }[]
  onChoose: (value: string) => void
}

export interface MenuProps extends MenuChoices {
  /** A button. */
  trigger: ReactElement<ComponentProps<'button'>>
  align?: 'start' | 'end'
}

export interface OpenedMenuProps extends MenuProps {
  isByKeyboard: boolean
}

const MENU_CLASS =
  'z-50 max-h-(--radix-dropdown-menu-content-available-height) min-w-48 overflow-y-auto rounded-control border border-line bg-surface p-1.5 text-ink shadow-over'
const ITEM_CLASS =
  'flex min-h-10 w-full cursor-pointer select-none items-center gap-2.5 rounded-[7px] px-2.5 text-body outline-none data-[highlighted]:bg-sunk data-[state=checked]:font-semibold data-[state=checked]:text-accent'

/** The menu as it is first opened; later its own trigger opens it. */
export function OpenedMenu(props: OpenedMenuProps) {
  const { trigger, align, value, choices, onChoose, isByKeyboard } = props
  const first = useRef<HTMLDivElement>(null)
  // Radix highlights the first choice after a key, but is loaded after the one that opened the menu.
  const isUnseenKey = useRef(isByKeyboard)
  const highlightFirst = () => {
    if (!isUnseenKey.current) return
    isUnseenKey.current = false
    first.current?.focus()
  }
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      {/* Screen reader users navigate by landmarks. */}
      <DropdownMenu.Portal container={document.querySelector('main')}>
        <DropdownMenu.Content
          align={align}
          sideOffset={6}
          collisionPadding={12}
          onFocus={highlightFirst}
          className={MENU_CLASS}
        >
          <DropdownMenu.RadioGroup value={value} onValueChange={onChoose}>
            {choices.map((choice, index) => (
              <DropdownMenu.RadioItem
                key={choice.value}
                ref={index === 0 ? first : undefined}
                value={choice.value}
                className={ITEM_CLASS}
              >
                {choice.label}
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
