import { NextIntlClientProvider, useMessages } from 'next-intl'
import type { ReactNode } from 'react'

type Spaces = keyof ReturnType<typeof useMessages>

/** Messages of components/ui and of the frame, which appear on every page. */
const ALWAYS: Spaces[] = ['nav', 'when', 'ui', 'period', 'problem', 'connection', 'proof']

interface ClientWordsProps {
  of?: Spaces[]
  children: ReactNode
}

/** Limits the messages sent to the browser to those that the components below need. */
export function ClientWords({ of = [], children }: ClientWordsProps) {
  const messages = useMessages()
  const wanted = new Set([...ALWAYS, ...of])
  const picked = Object.fromEntries(
    Object.entries(messages).filter(([space]) => wanted.has(space as Spaces)),
  )
  return (
    <NextIntlClientProvider messages={picked as typeof messages}>{children}</NextIntlClientProvider>
  )
}
