'use client'

import dynamic from 'next/dynamic'
import { useEffect, useState } from 'react'
import { watchPalette } from '#components/nav/search-button.tsx'

const Palette = dynamic(() =>
  import('#components/palette/palette.tsx').then(module => module.Palette),
)

interface PaletteHostProps {
  /** Offers the operator's pages and all accounts. */
  isAdmin: boolean
}

/** Renders the page's only palette, which is loaded when first opened. */
export function PaletteHost({ isAdmin }: PaletteHostProps) {
  const [isOpen, setOpen] = useState(false)
  useEffect(
    () =>
      watchPalette(
        () => setOpen(true),
        () => setOpen(open => !open),
      ),
    [],
  )
  return isOpen ? <Palette isAdmin={isAdmin} onClose={() => setOpen(false)} /> : null
}
