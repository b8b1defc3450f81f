'use client'

import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { Check, Circle, X } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { useApi } from '#components/api/use-api.ts'
import { storePreference } from '#components/nav/preferences.tsx'
import { accountQueries } from '#components/queries/account.ts'
import { buttonClass } from '#components/ui/button-class.ts'
import { CopyButton } from '#components/ui/copy.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import {
  FIRST_STEPS,
  FIRST_STEPS_COOKIE,
  type FirstStepName,
  type Steps,
} from '#lib/dashboard/schema.ts'

const REFRESH_MS = 3_000
const DONE_SHOWN_MS = 4_000

interface FirstStepsProps {
  origin: string
  /** Whether webhooks may be sent to loopback addresses. */
  isLocal: boolean
}

const isAllDone = (steps: Steps) => FIRST_STEPS.every(step => steps[step])

export function FirstSteps({ origin, isLocal }: FirstStepsProps) {
  const t = useTranslations('steps')
  const api = useApi()
  const [isDismissed, setDismissed] = useState(false)
  const { data: steps } = useSuspenseQuery({
    ...accountQueries.steps(api),
    refetchInterval: ({ state }) =>
      isDismissed || (state.data && isAllDone(state.data)) ? false : REFRESH_MS,
  })
  const nextStep = FIRST_STEPS.find(step => !steps[step])
  const doneCount = FIRST_STEPS.filter(step => steps[step]).length
  const isDone = isAllDone(steps)
  const queryClient = useQueryClient()
  // A finished step also changes the figures of the page.
  useEffect(() => {
    if (doneCount > 0) queryClient.invalidateQueries({ queryKey: accountQueries.homes(api) })
  }, [doneCount, queryClient, api])
  useEffect(() => {
    if (!isDone) return
    const timer = setTimeout(() => setDismissed(true), DONE_SHOWN_MS)
    return () => clearTimeout(timer)
  }, [isDone])
  if (isDismissed) return null
  return (
    <section aria-labelledby="first-steps" data-testid="first-steps">
      <Sheet className="px-4 py-4 md:px-7 md:py-6">
        <div className="flex items-center justify-between gap-4">
          <div className="flex flex-wrap items-baseline gap-x-3">
            <h2 id="first-steps" className="text-title">
              {t('title')}
            </h2>
            <p role="status" className="text-muted text-small">
              {isDone ? t('done') : t('progress', { done: doneCount })}
            </p>
          </div>
          <button
            type="button"
            onClick={() => {
              storePreference(FIRST_STEPS_COOKIE, 'hidden')
              setDismissed(true)
            }}
            className="-mr-2 inline-flex min-h-9 shrink-0 items-center gap-1.5 rounded-control px-2 font-medium text-muted text-small hover:bg-sunk hover:text-ink"
          >
            <X size={15} aria-hidden />
            {t('dismiss')}
          </button>
        </div>
        <ol className="mt-3 md:mt-4">
          {FIRST_STEPS.map(step => (
            <FirstStep
              key={step}
              step={step}
              origin={origin}
              isLocal={isLocal}
              isDone={steps[step]}
              isNext={step === nextStep}
            />
          ))}
        </ol>
      </Sheet>
    </section>
  )
}

const STEP_PATHS: Record<FirstStepName, string> = {
  payment: '/test/charges/new',
  token: '/test/settings/tokens/new',
  webhook: '/test/webhooks/endpoints/new',
}

interface FirstStepProps {
  step: FirstStepName
  isDone: boolean
  /** Whether this is the first open step. Only that step shows details. */
  isNext: boolean
  origin: string
  isLocal: boolean
}

function FirstStep({ step, isDone, isNext, origin, isLocal }: FirstStepProps) {
  const t = useTranslations('steps')
  const Icon = isDone ? Check : Circle
  const toneClass = isDone
    ? 'bg-ok-soft text-ok'
    : isNext
      ? 'bg-accent-soft text-accent'
      : 'text-muted'
  return (
    <li className={`flex gap-3 border-line not-first:border-t ${isNext ? 'py-3.5' : 'py-1.5'}`}>
      <span className={`grid w-6 shrink-0 place-items-center ${isNext ? 'h-6' : 'h-10'}`}>
        <span className={`grid size-6 place-items-center rounded-chip ${toneClass}`}>
          <Icon size={14} strokeWidth={2.2} aria-hidden />
        </span>
        <span className="sr-only">{isDone ? t('isDone') : t('isOpen')}</span>
      </span>
      <div className="min-w-0 flex-1">
        <div
          className={`flex items-center justify-between gap-x-6 gap-y-3 ${isNext ? 'flex-wrap' : 'min-h-10'}`}
        >
          <div className={isNext ? 'min-w-0 flex-1 basis-72' : 'min-w-0'}>
            <p className={isDone ? 'text-muted' : 'font-semibold'}>{t(`${step}.title`)}</p>
            {isNext ? (
              <p className="mt-0.5 max-w-[64ch] text-muted text-small">{t(`${step}.text`)}</p>
            ) : null}
          </div>
          {isDone ? null : <StepActions step={step} isNext={isNext} />}
        </div>
        {isNext && step === 'token' ? (
          <CommandExample text={chargeCommand(origin, t('tokenWord'))} />
        ) : null}
        {isNext && step === 'webhook' && isLocal ? (
          <>
            <p className="mt-3 text-muted text-small">{t('webhook.local')}</p>
            <CommandExample text={RECEIVER_COMMAND} />
          </>
        ) : null}
      </div>
    </li>
  )
}

function StepActions({ step, isNext }: { step: FirstStepName; isNext: boolean }) {
  const t = useTranslations('steps')
  return (
    <div className={`flex flex-wrap gap-2 ${isNext ? '' : 'shrink-0'}`}>
      {step === 'payment' && isNext ? (
        <Link href="/test/bank" prefetch={false} className={buttonClass('quiet')}>
          {t('payment.bank')}
        </Link>
      ) : null}
      <Link
        href={STEP_PATHS[step]}
        prefetch={false}
        className={buttonClass(isNext ? 'quiet' : 'plain')}
      >
        {t(`${step}.action`)}
      </Link>
    </div>
  )
}

function CommandExample({ text }: { text: string }) {
  const t = useTranslations('steps')
  return (
    <div className="mt-2.5 flex items-start gap-x-2 rounded-control bg-sunk p-2 pl-4 max-md:flex-col">
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
        tabIndex={0}
        aria-label={t('example')}
        className="min-w-0 max-w-full flex-1 overflow-x-auto py-1.5"
      >
        <pre className="font-mono text-[13px] leading-[1.65]">{text}</pre>
      </section>
      <CopyButton text={text} variant="plain" />
    </div>
  )
}

const RECEIVER_COMMAND = `node -e "require('http').createServer((q, s) => {
  q.pipe(process.stdout); s.end() }).listen(9000)"`

function chargeCommand(origin: string, token: string): string {
  return `curl ${origin}/api/transactions \\
  -H "Authorization: Bearer ${token}" \\
  -H "Content-Type: application/json" \\
  -d '{"amount": 4990, "client_name": "Ana Rocha",
    "client_email": "ana@example.com", "client_doc": "529.982.247-25"}'`
}
