import type { ReactNode } from 'react'
import { PreferenceSwitches } from '#components/nav/preference-switches.tsx'
import { Logo } from '#components/ui/logo.tsx'
import { Sheet } from '#components/ui/sheet.tsx'

interface VisitorPageProps {
  title: string
  subtitle: ReactNode
  children: ReactNode
  below?: ReactNode
}

export function VisitorPage({ title, subtitle, children, below }: VisitorPageProps) {
  return (
    <div className="mx-auto flex min-h-dvh wrap-anywhere max-w-[420px] flex-col px-4 py-6">
      <main className="my-auto py-8">
        <Logo size={30} />
        <h1 className="mt-10 text-head">{title}</h1>
        <p className="mt-1.5 mb-7 text-muted">{subtitle}</p>
        <Sheet className="p-5 sm:p-7">{children}</Sheet>
        {below}
      </main>
      <footer className="-ml-2.5">
        <PreferenceSwitches />
      </footer>
    </div>
  )
}
