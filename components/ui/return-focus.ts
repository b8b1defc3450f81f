import { useState } from 'react'

/** The element that had the focus last outside of dialogs: it opened the dialog that is open now. */
let lastOutside: Element | null = null

if (typeof document !== 'undefined') {
  rememberFocus()
  document.addEventListener('focusin', rememberFocus)
}

function rememberFocus(): void {
  const { activeElement: active, body } = document
  if (active !== body && !isInDialog(active)) lastOutside = active
}

/**
 * Returns the Radix handler that moves the focus back to what opened a dialog: Radix returns it only
 * to its own triggers. Call it where the dialog is first rendered, before anything in it has focus.
 */
export function useReturnFocus(): (event: Event) => void {
  const [outerElement] = useState(() => {
    const { activeElement: active } = document
    return isInDialog(active) ? active : null
  })
  return event => {
    event.preventDefault()
    const { activeElement: active, body } = document
    // A dialog that replaces this one has the focus already.
    if (active !== body && isInDialog(active)) return
    const opener = outerElement ?? findMenuButton(lastOutside) ?? lastOutside
    const target = opener?.isConnected ? opener : document.getElementById('content')
    if (target instanceof HTMLElement) target.focus()
  }
}

/** Finds the button of the menu that contains an element: the menu is gone once its item was chosen. */
function findMenuButton(element: Element | null): Element | null {
  const buttonId = element?.closest('[role=menu]')?.getAttribute('aria-labelledby')
  return buttonId ? document.getElementById(buttonId) : null
}

function isInDialog(element: Element | null): boolean {
  return element !== null && element.closest('[role=dialog]') !== null
}
