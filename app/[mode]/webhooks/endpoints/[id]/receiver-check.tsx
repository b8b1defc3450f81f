'use client'

import { useMutation } from '@tanstack/react-query'
import { Check, ListChecks, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useAttemptText } from '#app/[mode]/webhooks/attempt-text.ts'
import { WebhookProblem } from '#app/[mode]/webhooks/webhook-problem.tsx'
import type { AnswerOf } from '#components/api/routes.ts'
import { useApi } from '#components/api/use-api.ts'
import { Button } from '#components/ui/button.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { type ReceiverCheck as Name, RECEIVER_CHECKS } from '#lib/webhooks/states.ts'

type Result = AnswerOf<'POST', '/webhooks/endpoints/[id]/test'>['data'] & { check: Name }

/** Tries what a receiver must refuse and accept, one after another, and says what to fix. */
export function ReceiverCheck({ endpointId }: { endpointId: string }) {
  const t = useTranslations('endpoints')
  const api = useApi()
  const { withTime } = useAttemptText()
  const [results, setResults] = useState<Result[]>([])
  const run = useMutation({
    mutationFn: async () => {
      setResults([])
      for (const check of RECEIVER_CHECKS) {
        const { data } = await api.post('/webhooks/endpoints/[id]/test', {
          params: { id: endpointId },
          body: { check },
          idempotencyKey: crypto.randomUUID(),
        })
        setResults(before => [...before, { ...data, check }])
      }
    },
  })
  const passed = results.filter(result => result.passed).length
  const isComplete = results.length === RECEIVER_CHECKS.length
  return (
    <div>
      <Button variant="quiet" disabled={run.isPending} onClick={() => run.mutate()}>
        <ListChecks size={16} aria-hidden />
        {run.isPending
          ? t('checking', { count: results.length + 1, total: RECEIVER_CHECKS.length })
          : t('check')}
      </Button>
      {results.length > 0 ? (
        <ul className="mt-4">
          {results.map(result => (
            <li
              key={result.check}
              className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 border-line py-2.5 not-first:border-t"
            >
              <span className="font-medium">{t(`checks.${result.check}.name`)}</span>
              <Chip tone={result.passed ? 'ok' : 'bad'} icon={result.passed ? Check : X}>
                {withTime({ ...result, response_status: result.status }, result.duration_ms)}
              </Chip>
              {result.passed ? null : (
                <p className="col-span-full text-muted text-small">
                  {t(`checks.${result.check}.fix`)}
                </p>
              )}
            </li>
          ))}
        </ul>
      ) : null}
      <p role="status" className="text-small not-empty:mt-4">
        {isComplete
          ? passed === results.length
            ? t('checkPassed')
            : t.rich('checkFailed', {
                count: results.length - passed,
                docs: text => (
                  <a href="/docs/webhooks" className="font-semibold text-accent hover:underline">
                    {text}
                  </a>
                ),
              })
          : null}
      </p>
      <WebhookProblem error={run.error} />
    </div>
  )
}
