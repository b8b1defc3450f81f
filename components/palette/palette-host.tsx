'use client'

import { useCallback, useEffect, useState } from 'react'
import { watchPalette } from '#components/nav/search-button.tsx'
import { loadPalette, PaletteDialog } from '#components/palette/palette-dialog.tsx'

declare global {
  /** Ends the taking of early keys. Returns what was typed for the palette; null if it was not opened. */
  var takeEarlyKeys: (() => string | null) | undefined
}

/** Renders the page's only palette. Its scripts are loaded once the page is idle, or when it is opened. */
export function PaletteHost({ isAdmin }: { isAdmin: boolean }) {
  /** Text typed so far; null while the palette is closed. */
  const [typed, setTyped] = useState<string | null>(null)
  const close = useCallback(() => setTyped(null), [])
  useEffect(() => {
    setTyped(globalThis.takeEarlyKeys?.() ?? null)
    return watchPalette(
      () => setTyped(''),
      () => setTyped(open => (open === null && !isBelowLayer() ? '' : null)),
    )
  }, [])
  useEffect(loadWhenIdle, [])
  if (typed === null) return null
  return <PaletteDialog isAdmin={isAdmin} typed={typed} onClose={close} />
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
