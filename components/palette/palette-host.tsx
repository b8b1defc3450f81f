'use client'

import dynamic from 'next/dynamic'
import { useEffect, useState } from 'react'
import { watchPalette } from '#components/nav/search-button.tsx'

const Palette = dynamic(() =>
  import('#components/palette/palette.tsx').then(module => module.Palette),
)

/** Renders the page's only palette, which is loaded when first opened. */
export function PaletteHost() {
  const [isOpen, setOpen] = useState(false)
  useEffect(
    () =>
      watchPalette(
        () => setOpen(true),
        () => setOpen(open => !open),
      ),
    [],
  )
  return isOpen ? <Palette onClose={() => setOpen(false)} /> : null
}
