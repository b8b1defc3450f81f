import { CircleAlert, TimerOff } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { redirect } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { ProviderButton, SignInForm } from '#app/login/sign-in-form.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { VisitorPage } from '#components/ui/visitor-page.tsx'
import { env } from '#lib/core/settings.ts'
import { currentUser, landingPath } from '#lib/session/gate.ts'
import { openidProviders, readPendingStep } from '#lib/session/openid.ts'
import { safeRedirectPath } from '#lib/session/schema.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('login'))('submit') }
}

interface LoginPageProps {
  searchParams: Promise<
    Record<'next' | 'problem' | 'error' | 'proof' | 'ended', string | string[] | undefined>
  >
}

export default async function LoginPage({ searchParams }: LoginPageProps) {
  const search = await searchParams
  const next = safeRedirectPath(search.next)
  const user = await currentUser()
  if (user) redirect(next === '/' ? landingPath(user) : next)
  const [t, ui] = await Promise.all([getTranslations('login'), getTranslations('ui')])
  const renderFileName = (parts: React.ReactNode) => (
    <code className="rounded-[5px] bg-sunk px-1 py-0.5 font-mono text-[12.5px]">{parts}</code>
  )
  const labels = {
    email: t('email'),
    password: t('password'),
    show: ui('show'),
    submit: t('submit'),
    busy: t('busy'),
    passkey: t('passkey'),
    step: {
      title: t('step.title'),
      codeText: t('step.codeText'),
      code: t('step.code'),
      recoveryText: t('step.recoveryText'),
      recovery: t('step.recovery'),
      passkeyText: t('step.passkeyText'),
      passkey: t('step.passkey'),
      confirm: t('step.confirm'),
      busy: t('step.busy'),
      useCode: t('step.useCode'),
      useRecovery: t('step.useRecovery'),
      usePasskey: t('step.usePasskey'),
      back: t('step.back'),
    },
  }
  const problems = {
    wrong: t('problem.wrong'),
    wrong_code: t('problem.wrong_code'),
    challenge_ended: t('problem.challenge_ended'),
    passkey: t('problem.passkey'),
    busy: t('problem.busy'),
    locked: t('problem.locked', { time: '{time}' }),
    locked_code: t('problem.locked_code', { time: '{time}' }),
    cookies: t('problem.cookies', { address: env().PUBLIC_URL }),
    failed: t('problem.failed'),
  }
  const [provider] = openidProviders()
  // next-auth sets `error` if the provider's flow fails; Troco sets `problem` to refuse a user.
  const known = (['unknown', 'unverified', 'unlinked'] as const).find(
    name => name === search.problem,
  )
  const refusal = known ?? (search.error ? 'failed' : null)
  return (
    <VisitorPage
      title={t('title')}
      subtitle={t('subtitle')}
      below={
        <>
          {env().SIGNUPS === 'open' ? (
            <p className="mt-5 text-center text-muted text-small">
              {t('isNew')}{' '}
              <Link
                href="/signup"
                prefetch={false}
                className="inline-block py-1 font-medium text-accent hover:underline"
              >
                {t('signUp')}
              </Link>
            </p>
          ) : null}
          {env().TROCO_ENV === 'local' ? (
            <p className="mt-5 text-muted text-small">{t.rich('demo', { file: renderFileName })}</p>
          ) : null}
        </>
      }
    >
      {refusal ? (
        <div className="mb-5">
          <Notice tone="bad" icon={CircleAlert} role="alert">
            {t(`provider.${refusal}`)}
          </Notice>
        </div>
      ) : null}
      {search.ended === undefined || refusal ? null : (
        <div className="mb-5">
          <Notice tone="wait" icon={TimerOff} role="status">
            {t('ended')}
          </Notice>
        </div>
      )}
      <SignInForm
        labels={labels}
        problems={problems}
        next={next}
        initialStep={await readPendingStep()}
      >
        {provider ? (
          <ProviderButton
            provider={provider.id}
            label={t('provider.signIn', { name: provider.name })}
            failedLabel={t('provider.failed')}
            next={next}
            isProof={search.proof !== undefined}
          />
        ) : null}
        <p className="mt-4 text-center text-small">
          <Link
            href="/reset"
            prefetch={false}
            className="inline-block py-1 font-medium text-accent hover:underline"
          >
            {t('forgot')}
          </Link>
        </p>
      </SignInForm>
    </VisitorPage>
  )
}
