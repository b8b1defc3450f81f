import type { Metadata } from 'next'
import { redirect } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { Mark } from '#components/mark.tsx'
import { SignInForm } from '#components/sign-in-form.tsx'
import { Switches } from '#components/switches.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { env } from '#lib/env.ts'
import { currentUser, firstPage } from '#lib/session/gate.ts'
import { safeNext } from '#lib/session/schema.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('login'))('submit') }
}

interface LoginPageProps {
  searchParams: Promise<{ next?: string | string[] }>
}

export default async function LoginPage({ searchParams }: LoginPageProps) {
  const next = safeNext((await searchParams).next)
  const user = await currentUser()
  if (user) redirect(next === '/' ? firstPage(user) : next)
  const t = await getTranslations('login')
  const file = (parts: React.ReactNode) => (
    <code className="rounded-[5px] bg-sunk px-1 py-0.5 font-mono text-[12.5px]">{parts}</code>
  )
  const words = {
    email: t('email'),
    password: t('password'),
    submit: t('submit'),
    busy: t('busy'),
  }
  const problems = {
    wrong: t('problem.wrong'),
    busy: t('problem.busy'),
    cookies: t('problem.cookies', { address: env().PUBLIC_URL }),
    failed: t('problem.failed'),
  }
  return (
    <div className="mx-auto flex min-h-dvh max-w-[420px] flex-col px-4 py-6">
      <main className="my-auto py-8">
        <Mark size={30} />
        <h1 className="mt-10 text-head">{t('title')}</h1>
        <p className="mt-1.5 mb-7 text-muted">{t('subtitle')}</p>
        <Sheet className="p-5 sm:p-7">
          <SignInForm words={words} problems={problems} next={next} />
        </Sheet>
        {env().TROCO_ENV === 'local' ? (
          <p className="mt-5 text-muted text-small">{t.rich('demo', { file })}</p>
        ) : null}
      </main>
      <footer className="-ml-2.5">
        <Switches />
      </footer>
    </div>
  )
}
