'use client'

import { useMutation } from '@tanstack/react-query'
import { Check, Send, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useAttemptText } from '#app/[mode]/webhooks/attempt-text.ts'
import { Exchange } from '#app/[mode]/webhooks/attempt-view.tsx'
import { WebhookProblem } from '#app/[mode]/webhooks/webhook-problem.tsx'
import { useApi } from '#components/form/api.ts'
import { Button } from '#components/ui/button.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { Select } from '#components/ui/field.tsx'
import type { Endpoint, TestResult } from '#lib/webhooks/schema.ts'
import { PING, TEST_EVENT_TYPES, type TestEventType } from '#lib/webhooks/states.ts'

export function TestEvent({ endpoint }: { endpoint: Endpoint }) {
  const t = useTranslations('endpoints')
  const api = useApi()
  const { withTime } = useAttemptText()
  const types: readonly TestEventType[] = api.scope.mode === 'live' ? [PING] : TEST_EVENT_TYPES
  const [first = PING] = api.scope.mode === 'live' ? [] : endpoint.event_types
  const [type, setType] = useState<TestEventType>(first)
  const test = useMutation({
    mutationFn: (idempotencyKey: string) =>
      api.send<{ data: TestResult }>('POST', `/webhooks/endpoints/${endpoint.id}/test`, {
        body: { type },
        idempotencyKey,
      }),
  })
  const result = test.data?.data
  return (
    <div>
      <div className="grid gap-3 sm:grid-cols-[minmax(0,1fr)_max-content] sm:items-end">
        <Select
          label={t('testType')}
          name="type"
          value={type}
          onChange={event =>
            setType(types.find(name => name === event.currentTarget.value) ?? PING)
          }
        >
          {types.map(name => (
            <option key={name}>{name}</option>
          ))}
        </Select>
        <Button
          variant="quiet"
          disabled={test.isPending}
          onClick={() => test.mutate(crypto.randomUUID())}
          className="min-h-11"
        >
          <Send size={16} aria-hidden />
          {test.isPending ? t('testing') : t('test')}
        </Button>
      </div>
      <div role="status" className="mt-4 empty:mt-0">
        {result ? (
          <Chip tone={result.delivered ? 'ok' : 'bad'} icon={result.delivered ? Check : X}>
            {withTime({ ...result, response_status: result.status }, result.duration_ms)}
          </Chip>
        ) : null}
      </div>
      <WebhookProblem error={test.error} />
      {result ? (
        <Exchange
          key={result.request_headers['webhook-id']}
          url={endpoint.url}
          attempt={{ ...result, response_status: result.status }}
        />
      ) : null}
    </div>
  )
}
