'use client'

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { type SubmitEvent, useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useDurations } from '#components/format/format.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { Button } from '#components/ui/button.tsx'
import { Select } from '#components/ui/field.tsx'
import { Section } from '#components/ui/sheet.tsx'
import { WEBHOOK_FAULTS, type WebhookFault } from '#lib/webhooks/states.ts'

const HOUR_S = 3_600
/** A retry; past a charge of a day; past the last retry; past the time for refunds. */
const ADVANCES = [
  ['1h', HOUR_S],
  ['25h', 25 * HOUR_S],
  ['8d', 8 * 24 * HOUR_S],
  ['91d', 91 * 24 * HOUR_S],
] as const
const COUNTS = [1, 3, 10] as const

/** Lets time pass and webhooks fail, for tests by hand. */
export function Controls() {
  const t = useTranslations('controls')
  const api = useApi()
  const router = useRouter()
  const queryClient = useQueryClient()
  const { inWords } = useDurations()
  const [done, setDone] = useState<'time' | 'webhooks' | null>(null)
  const options = {
    onMutate: () => setDone(null),
    // The banner of the layout says what is moved.
    onSettled: async () => {
      await queryClient.invalidateQueries()
      router.refresh()
    },
  }
  const advancing = useMutation({
    ...options,
    mutationFn: (advance: string) => api.post('/sandbox/clock', { body: { advance } }),
    onSuccess: () => setDone('time'),
  })
  const failing = useMutation({
    ...options,
    mutationFn: (body: { fault: WebhookFault; count: number }) =>
      api.post('/sandbox/webhooks', { body }),
    onSuccess: () => setDone('webhooks'),
  })

  function submit(event: SubmitEvent<HTMLFormElement>, send: (data: FormData) => void) {
    event.preventDefault()
    send(new FormData(event.currentTarget))
  }

  return (
    <IfAllowed permission="transactions:write">
      <Section title={t('title')} text={t('text')}>
        <div className="grid gap-6 md:grid-cols-2">
          <form
            method="post"
            className="flex items-end gap-2.5"
            onSubmit={event => submit(event, data => advancing.mutate(String(data.get('advance'))))}
          >
            <div className="min-w-0 flex-1">
              <Select label={t('time')} name="advance" defaultValue="25h">
                {ADVANCES.map(([advance, seconds]) => (
                  <option key={advance} value={advance}>
                    {inWords(seconds)}
                  </option>
                ))}
              </Select>
            </div>
            <Button
              type="submit"
              variant="quiet"
              className="min-h-11"
              disabled={advancing.isPending}
            >
              {advancing.isPending ? t('advancing') : t('advance')}
            </Button>
          </form>
          <form
            method="post"
            className="flex flex-wrap items-end gap-2.5"
            onSubmit={event =>
              submit(event, data =>
                failing.mutate({
                  fault: data.get('fault') as WebhookFault,
                  count: Number(data.get('count')),
                }),
              )
            }
          >
            <div className="min-w-0 flex-1 max-sm:basis-full">
              <Select label={t('webhooks')} name="fault">
                {WEBHOOK_FAULTS.map(fault => (
                  <option key={fault} value={fault}>
                    {t(`fault.${fault}`)}
                  </option>
                ))}
              </Select>
            </div>
            <div className="w-20 shrink-0 max-sm:flex-1">
              <Select label={t('count')} name="count">
                {COUNTS.map(count => (
                  <option key={count}>{count}</option>
                ))}
              </Select>
            </div>
            <Button type="submit" variant="quiet" className="min-h-11" disabled={failing.isPending}>
              {failing.isPending ? t('failingBusy') : t('fail')}
            </Button>
          </form>
        </div>
        {advancing.error || failing.error ? (
          <div className="mt-4">
            <Problem error={advancing.error ?? failing.error} />
          </div>
        ) : null}
        <p role="status" className="text-small not-empty:mt-4">
          {done ? t(`done.${done}`) : null}
        </p>
      </Section>
    </IfAllowed>
  )
}
