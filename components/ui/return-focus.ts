import { useState } from 'react'

/** Opener of the dialog that is open, for a dialog that replaces it. */
let currentOpener: Element | null = null

/**
 * Returns the Radix handler that moves the focus back to what opened a dialog: Radix returns it only
 * to its own triggers. Call it where the dialog is first rendered, before anything in it has focus.
 */
export function useReturnFocus(): (event: Event) => void {
  const [opener] = useState(() => {
    // The element that opened a replaced dialog has lost the focus to it.
    const active = openerOf(document.activeElement)
    if (active !== document.body && !isInDialog(active)) currentOpener = active
    return isInDialog(active) ? active : currentOpener
  })
  return event => {
    event.preventDefault()
    const { activeElement: active, body } = document
    // A dialog that replaces this one has the focus already.
    if (active !== body && isInDialog(active)) return
    currentOpener = null
    const target = opener?.isConnected ? opener : document.getElementById('content')
    if (target instanceof HTMLElement) target.focus()
  }
}

/** Returns the button of a menu for its item, which is gone when the dialog closes. */
function openerOf(element: Element | null): Element | null {
  const menu = element?.closest('[role=menu]')
  const buttonId = menu?.getAttribute('aria-labelledby')
  return buttonId ? document.getElementById(buttonId) : element
}

function isInDialog(element: Element | null): boolean {
  return element !== null && element.closest('[role=dialog]') !== null
}
