'use client'

import { useMutation } from '@tanstack/react-query'
import { Check, Pause, Play, Send, Trash2, X } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useAttemptText } from '#app/[mode]/webhooks/attempt-text.ts'
import { AttemptExchange } from '#app/[mode]/webhooks/attempt-view.tsx'
import { WebhookProblem } from '#app/[mode]/webhooks/webhook-problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { Button } from '#components/ui/button.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { Select } from '#components/ui/field.tsx'
import { LazyDialog, LazyDialogActions } from '#components/ui/lazy-dialog.ts'
import type { Endpoint } from '#lib/webhooks/schema.ts'
import { PING, TEST_EVENT_TYPES, type TestEventType } from '#lib/webhooks/states.ts'

interface EndpointActionsProps {
  endpoint: Endpoint
  /** Number of deliveries that wait because the endpoint is disabled. */
  missedCount: number
}

type EndpointAction = 'enable' | 'enableWithout' | 'disable' | 'delete'

export function EndpointActions({ endpoint, missedCount }: EndpointActionsProps) {
  const t = useTranslations('endpoints')
  const api = useApi()
  const router = useRouter()
  const [confirming, setConfirming] = useState<'enable' | 'disable' | 'delete' | null>(null)
  const params = { id: endpoint.id }
  const change = useMutation({
    mutationFn: async (action: EndpointAction) => {
      if (action === 'delete') await api.delete('/webhooks/endpoints/[id]', { params })
      if (action === 'delete') return 0
      const idempotencyKey = crypto.randomUUID()
      if (action === 'disable') {
        await api.post('/webhooks/endpoints/[id]/disable', { params, idempotencyKey })
        return 0
      }
      const body = { send_missed: action === 'enable' }
      const request = { params, body, idempotencyKey }
      return (await api.post('/webhooks/endpoints/[id]/enable', request)).missed
    },
    onSuccess: (_, action) => {
      setConfirming(null)
      if (action === 'delete') router.push(`/${api.scope.mode}/webhooks/endpoints`)
      router.refresh()
    },
  })
  const { variables: action, data: missed } = change
  const isDisabled = endpoint.status === 'disabled'
  const askToConfirm = (nextAction: typeof confirming) => {
    change.reset()
    setConfirming(nextAction)
  }
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button variant="quiet" onClick={() => askToConfirm(isDisabled ? 'enable' : 'disable')}>
        {isDisabled ? <Play size={16} aria-hidden /> : <Pause size={16} aria-hidden />}
        {isDisabled ? t('enable') : t('disable')}
      </Button>
      <Button variant="plain" onClick={() => askToConfirm('delete')}>
        <Trash2 size={16} aria-hidden />
        {t('delete')}
      </Button>
      <span role="status" className="text-muted text-small">
        {action === 'enable' && missed ? t('missedSent', { count: missed }) : ''}
      </span>
      {confirming ? (
        <LazyDialog
          onClose={() => setConfirming(null)}
          title={t(`${confirming}Title`)}
          description={t(`${confirming}Text`, { count: missedCount })}
        >
          <div className="grid gap-4">
            <WebhookProblem error={change.error} />
            <LazyDialogActions
              isBusy={change.isPending}
              onConfirm={() => change.mutate(confirming)}
              {...(confirming === 'enable' && missedCount > 0
                ? {
                    action: t('enableSending', { count: missedCount }),
                    keep: t('enableWithout'),
                    onCancel: () => change.isPending || change.mutate('enableWithout'),
                  }
                : { action: t(confirming), onCancel: () => setConfirming(null) })}
            />
          </div>
        </LazyDialog>
      ) : null}
    </div>
  )
}

export function TestEvent({ endpoint }: { endpoint: Endpoint }) {
  const t = useTranslations('endpoints')
  const api = useApi()
  const { withTime } = useAttemptText()
  const types: readonly TestEventType[] = api.scope.mode === 'live' ? [PING] : TEST_EVENT_TYPES
  const [first = PING] = api.scope.mode === 'live' ? [] : endpoint.event_types
  const [type, setType] = useState<TestEventType>(first)
  const test = useMutation({
    mutationFn: (idempotencyKey: string) =>
      api.post('/webhooks/endpoints/[id]/test', {
        params: { id: endpoint.id },
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
        <AttemptExchange
          key={result.request_headers['webhook-id']}
          url={endpoint.url}
          attempt={{ ...result, response_status: result.status }}
        />
      ) : null}
    </div>
  )
}
