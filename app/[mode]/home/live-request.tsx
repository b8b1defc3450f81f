'use client'

import { useMutation } from '@tanstack/react-query'
import { Check, Circle } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { type ReactNode, useRef } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { Button } from '#components/ui/button.tsx'

const STEPS = ['payment', 'webhook', 'requested', 'bank'] as const

interface LiveRequestProps {
  /** Whether a test charge was paid and a test webhook delivered. */
  tried: { payment: boolean; webhook: boolean }
  isRequested: boolean
  /** A link beside the button. */
  children: ReactNode
}

/** Lists the steps to live mode, with a button for owners that asks for it. */
export function LiveRequest({ tried, isRequested, children }: LiveRequestProps) {
  const t = useTranslations('live')
  const api = useApi()
  const mayAsk = useHasPermission()('settings:write')
  const idempotencyKey = useRef<string>(undefined)
  const request = useMutation({
    mutationFn: () => {
      idempotencyKey.current ??= crypto.randomUUID()
      const options = { idempotencyKey: idempotencyKey.current }
      return api.post('/dashboard/account/live', options)
    },
  })
  const isSent = isRequested || request.isSuccess
  const done = { ...tried, requested: isSent, bank: false }
  return (
    <>
      <ul className="mb-5 grid gap-2.5">
        {STEPS.map(step => {
          const Icon = done[step] ? Check : Circle
          return (
            <li key={step} className="flex gap-2.5">
              <Icon
                size={18}
                aria-hidden
                className={`mt-0.5 shrink-0 ${done[step] ? 'text-ok' : 'text-muted'}`}
              />
              <span className={done[step] ? 'text-muted' : ''}>
                {t(`step.${step}`)}
                <span className="sr-only">{done[step] ? ` (${t('done')})` : ''}</span>
              </span>
            </li>
          )
        })}
      </ul>
      {request.error ? (
        <div className="mb-4">
          <Problem error={request.error} />
        </div>
      ) : null}
      <p role="status" className={isSent ? 'mb-5 font-medium' : 'sr-only'}>
        {isSent ? t('sent') : ''}
      </p>
      <div className="flex flex-wrap gap-3">
        {isSent || !mayAsk ? null : (
          <Button variant="primary" disabled={request.isPending} onClick={() => request.mutate()}>
            {t(request.isPending ? 'sending' : 'ask')}
          </Button>
        )}
        {children}
      </div>
    </>
  )
}
