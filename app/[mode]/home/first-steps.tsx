'use client'

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { FirstStep } from '#app/[mode]/home/first-step.tsx'
import { useApi } from '#components/form/api.ts'
import { storePreference } from '#components/format/preferences.ts'
import { Sheet } from '#components/ui/sheet.tsx'
import { FIRST_STEPS, FIRST_STEPS_COOKIE, type Steps } from '#lib/dashboard/schema.ts'

const REFRESH_MS = 3_000
const DONE_SHOWN_MS = 4_000

interface FirstStepsProps {
  initialData: Steps
  origin: string
  /** Whether webhooks may be sent to loopback addresses. */
  isLocal: boolean
}

const isAllDone = (steps: Steps) => FIRST_STEPS.every(step => steps[step])

export function FirstSteps({ initialData, origin, isLocal }: FirstStepsProps) {
  const t = useTranslations('steps')
  const api = useApi()
  const [isDismissed, setDismissed] = useState(false)
  const { data: steps } = useQuery({
    queryKey: ['steps', api.scope.mode, api.scope.accountId],
    queryFn: async ({ signal }) =>
      (await api.get<{ data: Steps }>('/dashboard/steps', signal)).data,
    initialData,
    refetchInterval: ({ state }) =>
      isDismissed || (state.data && isAllDone(state.data)) ? false : REFRESH_MS,
    gcTime: 0,
  })
  const nextStep = FIRST_STEPS.find(step => !steps[step])
  const doneCount = FIRST_STEPS.filter(step => steps[step]).length
  const isDone = isAllDone(steps)
  const queryClient = useQueryClient()
  // A finished step also changes the figures of the page.
  useEffect(() => {
    if (doneCount > 0) queryClient.invalidateQueries({ queryKey: ['home'] })
  }, [doneCount, queryClient])
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
              {...{ step, origin, isLocal }}
              isDone={steps[step]}
              isNext={step === nextStep}
            />
          ))}
        </ol>
      </Sheet>
    </section>
  )
}
