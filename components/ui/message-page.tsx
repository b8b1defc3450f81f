import type { ReactNode } from 'react'
import { Logo } from '#components/ui/logo.tsx'

interface MessagePageProps {
  code: string
  title: string
  text: string
  children: ReactNode
}

/** A page with one message and a link or button. Needs no data from the server. */
export function MessagePage({ code, title, text, children }: MessagePageProps) {
  return (
    <main className="mx-auto flex min-h-dvh max-w-120 flex-col px-6 py-8">
      <Logo size={24} />
      <div className="my-auto pt-12 pb-24">
        <p className="font-mono text-muted text-small">{code}</p>
        <h1 className="mt-2 text-head">{title}</h1>
        <p className="mt-3 mb-7 text-muted">{text}</p>
        {children}
      </div>
    </main>
  )
}
