import { NextIntlClientProvider, useMessages } from 'next-intl'
import type { ReactNode } from 'react'

type Namespace = keyof ReturnType<typeof useMessages>

/** Namespaces of components/ui and the frame, which every page uses. */
const SHARED_NAMESPACES: Namespace[] = [
  'nav',
  'when',
  'ui',
  'period',
  'problem',
  'limitProblem',
  'connection',
  'proof',
]

interface ClientMessagesProps {
  namespaces?: Namespace[]
  children: ReactNode
}

/** Limits the messages sent to the browser to those that the components below need. */
export function ClientMessages({ namespaces = [], children }: ClientMessagesProps) {
  const messages = useMessages()
  const included = new Set([...SHARED_NAMESPACES, ...namespaces])
  const picked = Object.fromEntries(
    Object.entries(messages).filter(([namespace]) => included.has(namespace as Namespace)),
  )
  return (
    <NextIntlClientProvider messages={picked as typeof messages}>{children}</NextIntlClientProvider>
  )
}
