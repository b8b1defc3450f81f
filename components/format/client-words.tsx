import { NextIntlClientProvider, useMessages } from 'next-intl'
import type { ReactNode } from 'react'

type Spaces = keyof ReturnType<typeof useMessages>

/** What the kit of components/ui and the frame say, wherever they stand. */
const ALWAYS: Spaces[] = ['nav', 'when', 'ui', 'period', 'problem', 'connection', 'proof']

interface ClientWordsProps {
  of?: Spaces[]
  children: ReactNode
}

/** Sends the browser only the messages that the components below it may say. */
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
