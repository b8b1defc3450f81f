'use client'

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { FlaskConical } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useDurations, useTimeText } from '#components/format/format.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { Button } from '#components/ui/button.tsx'
import type { WebhookFault } from '#lib/webhooks/states.ts'

/** Interval at which the banner learns how many webhooks are left. */
const REFRESH_MS = 15_000

interface ControlsBannerProps {
  advancedS: number
  fault: WebhookFault | null
  left: number
  endsAt: string
}

/** Says on each page of test mode what the account does to it, and offers to end it. */
export function ControlsBanner({ advancedS, fault, left, endsAt }: ControlsBannerProps) {
  const t = useTranslations('controls')
  const api = useApi()
  const router = useRouter()
  const queryClient = useQueryClient()
  const timeText = useTimeText()
  const { inWords } = useDurations()
  const ending = useMutation({
    mutationFn: () => api.delete('/sandbox/controls'),
    onSuccess: async () => {
      await queryClient.invalidateQueries()
      router.refresh()
    },
  })
  useEffect(() => {
    const refresh = () => router.refresh()
    const timers = [setTimeout(refresh, Math.max(0, Date.parse(endsAt) - Date.now()))]
    if (fault) timers.push(setInterval(refresh, REFRESH_MS))
    return () => timers.forEach(clearTimeout)
  }, [endsAt, fault, router])
  return (
    <section
      aria-label={t('banner')}
      className="mb-6 grid grid-cols-[minmax(0,1fr)] gap-3 rounded-control bg-test-soft px-3.5 py-3 text-test max-md:mt-2 print:hidden"
    >
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <p className="flex min-w-0 flex-1 basis-64 gap-2.5 font-medium text-small">
          <FlaskConical size={16} aria-hidden className="mt-0.5 shrink-0" />
          <span className="wrap-anywhere min-w-0">
            {advancedS > 0 ? `${t('advanced', { duration: inWords(advancedS) })} ` : null}
            {fault ? `${t(`failing.${fault}`, { count: left })} ` : null}
            {t('until', { time: timeText(endsAt, { timeStyle: 'short' }) })}
          </span>
        </p>
        <IfAllowed permission="transactions:write">
          <Button variant="quiet" disabled={ending.isPending} onClick={() => ending.mutate()}>
            {ending.isPending ? t('ending') : t('end')}
          </Button>
        </IfAllowed>
      </div>
      {ending.error ? <Problem error={ending.error} /> : null}
    </section>
  )
}
