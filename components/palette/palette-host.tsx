'use client'

import { useCallback, useEffect, useState } from 'react'
import { watchPalette } from '#components/nav/search-button.tsx'
import { loadPalette, PaletteDialog } from '#components/palette/palette-dialog.tsx'

/** Renders the page's only palette. Its scripts are loaded once the page is idle, or when it is opened. */
export function PaletteHost({ isAdmin }: { isAdmin: boolean }) {
  const [isOpen, setOpen] = useState(false)
  const close = useCallback(() => setOpen(false), [])
  useEffect(
    () =>
      watchPalette(
        () => setOpen(true),
        () => setOpen(open => !open && !isBelowLayer()),
      ),
    [],
  )
  useEffect(loadWhenIdle, [])
  return isOpen ? <PaletteDialog isAdmin={isAdmin} onClose={close} /> : null
}

/** Returns whether a dialog or menu of Radix is open, which would take the focus back from the palette. */
function isBelowLayer(): boolean {
  return document.querySelector(':is([role=dialog], [role=menu])[data-state=open]') !== null
}

/** Loads the palette after the page's own files. Returns a function that cancels this. */
function loadWhenIdle() {
  const load = () => loadPalette().catch(() => {})
  // Safari has no requestIdleCallback.
  const wait = () => ('requestIdleCallback' in window ? requestIdleCallback(load) : load())
  if (document.readyState === 'complete') wait()
  else addEventListener('load', wait)
  return () => removeEventListener('load', wait)
}
