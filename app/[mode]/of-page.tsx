'use client'

import { usePathname } from 'next/navigation'

/** Shows the text of the page at the present address, which the layout around it does not learn. */
export function OfPage({ texts }: { texts: Record<string, string | null> }) {
  return texts[usePathname().split('/').slice(2).join('/')]
}
