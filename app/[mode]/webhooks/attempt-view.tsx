'use client'

import { Check, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import {
  curlCommand,
  diffResponses,
  requestText,
  responseText,
  useAttemptText,
} from '#app/[mode]/webhooks/attempt-text.ts'
import { useDurations } from '#components/format/format.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { CodeBlock } from '#components/ui/code.tsx'
import { CopyButton } from '#components/ui/copy.tsx'
import type { Attempt, DeliveryDetail } from '#lib/webhooks/schema.ts'

interface AttemptViewProps {
  delivery: DeliveryDetail
  attempt: Attempt
  previous: Attempt | undefined
}

export function AttemptView({ delivery, attempt, previous }: AttemptViewProps) {
  const t = useTranslations('deliveries')
  const { brief } = useAttemptText()
  const { callDuration } = useDurations()
  const { number, response_status: status, problem, address } = attempt
  const total = Math.max(delivery.attempts.length, number) + attemptsLeft(delivery)
  const isReceived = problem === null
  const time = callDuration(attempt.duration_ms)
  return (
    <section aria-labelledby="attempt" className="mt-5">
      <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
        <h3 id="attempt" className="font-display font-semibold text-title">
          {t('attemptOf', { number, total })}
        </h3>
        <Chip tone={isReceived ? 'ok' : 'bad'} icon={isReceived ? Check : X}>
          {brief(attempt)}
        </Chip>
      </div>
      <p className="mt-1 text-muted text-small">
        {address ? `${address} · ` : ''}
        {status === null ? t('gaveUpAfter', { time }) : t('answeredAfter', { time })}
      </p>
      <AttemptExchange
        url={delivery.url}
        attempt={attempt}
        previous={previous}
        isMasked={delivery.is_masked}
      />
    </section>
  )
}

function attemptsLeft({ status, later_pauses_s }: DeliveryDetail): number {
  return status === 'pending' ? 1 + later_pauses_s.length : 0
}

type ExchangePart = 'response' | 'request' | 'difference'

export interface ExchangeProps {
  url: string
  attempt: Omit<Attempt, 'number' | 'at'>
  previous?: Attempt | undefined
  isMasked?: boolean
}

export function AttemptExchange({ url, attempt, previous, isMasked = false }: ExchangeProps) {
  const t = useTranslations('deliveries')
  const { meaning } = useAttemptText()
  const [part, setPart] = useState<ExchangePart>('response')
  const { response_status: status, problem, request_headers: headers, request_body: body } = attempt
  const describeResult = (result: ExchangeProps['attempt']) =>
    result.response_status === null
      ? (meaning(result) ?? '')
      : responseText(result.response_status, result)
  const difference = previous
    ? diffResponses(describeResult(previous), describeResult(attempt))
    : []
  const parts: ExchangePart[] = [
    'response',
    'request',
    ...(difference.length > 0 ? (['difference'] as const) : []),
  ]
  const copyableBody =
    part === 'request' ? body : part === 'response' ? attempt.response_body : null
  return (
    <>
      <fieldset className="mt-3 flex min-w-0 flex-wrap gap-2">
        <legend className="sr-only">{t('parts')}</legend>
        {parts.map(name => (
          <button
            key={name}
            type="button"
            aria-pressed={part === name}
            onClick={() => setPart(name)}
            className="inline-flex h-9 items-center rounded-chip border border-line2 bg-surface px-3.5 font-medium text-muted text-small hover:text-ink aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent"
          >
            {t(`part.${name}`)}
          </button>
        ))}
      </fieldset>
      {part === 'response' && problem ? (
        <p className="mt-3 font-medium text-bad text-small">{meaning(attempt)}</p>
      ) : null}
      {part === 'difference' ? (
        <CodeBlock label={t('part.difference')} lines={difference} />
      ) : part === 'request' ? (
        <CodeBlock
          label={t('part.request')}
          text={requestText(url, attempt, isMasked ? t('signatureHidden') : undefined)}
        />
      ) : status === null ? null : (
        <CodeBlock label={t('part.response')} text={responseText(status, attempt)} />
      )}
      {part === 'request' && body === null ? (
        <p className="mt-2 text-muted text-small">{t('bodyGone')}</p>
      ) : null}
      {part === 'request' && body !== null ? (
        <p className="mt-2 text-muted text-small">
          {t(isMasked ? 'signatureHiddenWhy' : 'signatureAge')}
        </p>
      ) : null}
      {part === 'response' && isMasked && status !== null ? (
        <p className="mt-2 text-muted text-small">{t('responseHidden')}</p>
      ) : null}
      <div className="mt-1 flex flex-wrap justify-end">
        {body === null || isMasked ? null : (
          <CopyButton
            text={curlCommand({ url, headers, body })}
            label={t('copyCurl')}
            variant="plain"
            className="text-small"
          />
        )}
        {copyableBody ? (
          <CopyButton
            text={copyableBody}
            label={t('copyBody')}
            variant="plain"
            className="text-small"
          />
        ) : null}
      </div>
    </>
  )
}
