'use client'

import Link from 'next/link'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect, useRef, useState } from 'react'
import { SecretValue } from '#app/[mode]/webhooks/endpoints/rotate-secret.tsx'
import { WebhookProblem } from '#app/[mode]/webhooks/webhook-problem.tsx'
import { ApiError } from '#components/api/client.ts'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { Button } from '#components/ui/button.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { Field } from '#components/ui/field.tsx'
import { type Endpoint, endpointRequest } from '#lib/webhooks/schema.ts'
import { EVENT_GROUPS, EVENT_TYPES, type EventType, matchEventTypes } from '#lib/webhooks/states.ts'

interface EndpointFormProps {
  endpoint?: Endpoint
  isLoopbackAllowed: boolean
}

export function EndpointForm({ endpoint, isLoopbackAllowed }: EndpointFormProps) {
  const t = useTranslations()
  const api = useApi()
  const router = useRouter()
  const { mode } = api.scope
  const mayReadPayers = useHasPermission()('payers:read')
  const [created, setCreated] = useState<(Endpoint & { secret: string }) | null>(null)
  const [isSaved, setSaved] = useState(false)
  const [isPrivate, setPrivate] = useState(false)
  const form = useForm({
    schema: endpointRequest[mode],
    read: data => {
      const types = data.getAll('event_types')
      return {
        url: String(data.get('url') ?? '').trim() || undefined,
        event_types: types.length > 0 ? types : undefined,
        full_documents: mayReadPayers ? data.has('full_documents') : undefined,
      }
    },
    async send(body, idempotencyKey) {
      try {
        if (endpoint) {
          await api.patch('/webhooks/endpoints/[id]', { params: { id: endpoint.id }, body })
          setSaved(true)
          return router.refresh()
        }
        const response = await api.post('/webhooks/endpoints', { body, idempotencyKey })
        setCreated(response.data)
      } catch (error) {
        // The form has the server's schema, so the server refused where the address leads.
        setPrivate(error instanceof ApiError && error.fields.url !== undefined)
        throw error
      }
    },
  })
  if (created) return <NewEndpoint id={created.id} secret={created.secret} />
  const { url, event_types } = form.problems
  const hintKey = mode === 'live' ? 'live' : isLoopbackAllowed ? 'local' : 'test'
  return (
    <form
      {...form.props}
      onInput={event => {
        setSaved(false)
        setPrivate(false)
        form.props.onInput(event)
      }}
      className="grid gap-6"
    >
      <Field
        label={t('endpoints.url')}
        name="url"
        type="url"
        inputMode="url"
        autoComplete="off"
        spellCheck={false}
        maxLength={2048}
        defaultValue={endpoint?.url}
        placeholder="https://"
        hint={t(`endpoints.urlHint.${hintKey}`)}
        problem={
          url &&
          t(`endpoints.urlProblem.${url === 'required' ? url : isPrivate ? 'private' : mode}`)
        }
      />
      <EventChoice
        chosen={endpoint?.event_types ?? EVENT_TYPES}
        problem={event_types && t('endpoints.eventsProblem')}
      />
      <DocumentChoice endpoint={endpoint} />
      <WebhookProblem error={form.failure} />
      <div className="flex flex-wrap items-center gap-3">
        <Button variant="primary" type="submit" disabled={form.isBusy}>
          {endpoint ? t('endpoints.save') : t('endpoints.create')}
        </Button>
        <span role="status" className="text-muted text-small">
          {isSaved ? t('endpoints.saved') : ''}
        </span>
      </div>
    </form>
  )
}

interface NewEndpointProps {
  id: string
  secret: string
}

function NewEndpoint({ id, secret }: NewEndpointProps) {
  const t = useTranslations('endpoints')
  const { mode } = useApi().scope
  const head = useRef<HTMLHeadingElement>(null)
  useEffect(() => head.current?.focus(), [])
  return (
    <div className="grid gap-4">
      <h2 ref={head} tabIndex={-1} className="text-title outline-none">
        {t('made')}
      </h2>
      <p className="max-w-[62ch] text-muted">{t('madeText')}</p>
      <SecretValue secret={secret} />
      <div className="flex flex-wrap gap-2">
        <Link
          href={`/${mode}/webhooks/endpoints/${id}`}
          prefetch={false}
          className={buttonClass('primary')}
        >
          {t('goToEndpoint')}
        </Link>
      </div>
    </div>
  )
}

interface EventChoiceProps {
  chosen: readonly EventType[]
  problem?: string | undefined
}

const CHECKBOX_CLASS = 'mt-0.5 size-[18px] shrink-0 accent-accent'

function EventChoice({ chosen: initialChoice, problem: formProblem }: EventChoiceProps) {
  const t = useTranslations('endpoints')
  const [chosen, setChosen] = useState(new Set(initialChoice))
  // Hidden at the first choice. If hidden on submit, the button would move before the click ends.
  const problem = chosen.size === 0 ? formProblem : undefined
  const isAll = chosen.size === EVENT_TYPES.length
  function toggle(type: EventType) {
    const next = new Set(chosen)
    if (!next.delete(type)) next.add(type)
    setChosen(next)
  }
  return (
    <fieldset aria-describedby={problem ? 'event_types-problem' : undefined}>
      <legend className="mb-2 font-semibold text-small">{t('events')}</legend>
      <label className="flex min-h-9 items-start gap-2.5 py-1.5 font-medium">
        <input
          type="checkbox"
          className={CHECKBOX_CLASS}
          checked={isAll}
          ref={box => {
            if (box) box.indeterminate = !isAll && chosen.size > 0
          }}
          onChange={() => setChosen(new Set(isAll ? [] : EVENT_TYPES))}
        />
        {t('allEvents')}
      </label>
      <div className="mt-1 grid gap-x-6 gap-y-3 sm:grid-cols-2">
        {EVENT_GROUPS.map(group => (
          <div key={group}>
            <p className="mb-1 text-muted text-small">
              {t(group === 'transaction.*' ? 'ofCharges' : 'ofWithdrawals')}
            </p>
            {matchEventTypes(group).map(type => (
              <label key={type} className="flex min-h-9 items-start gap-2.5 py-1.5">
                <input
                  type="checkbox"
                  name="event_types"
                  value={type}
                  className={CHECKBOX_CLASS}
                  checked={chosen.has(type)}
                  onChange={() => toggle(type)}
                />
                <span className="min-w-0">
                  <span className="block font-mono text-[13px] leading-[22px]">
                    {type.split('.')[0]}.<wbr />
                    {type.split('.')[1]}
                  </span>
                  <span className="block text-muted text-small">
                    {t(`means.${messageKeyOf(type)}`)}
                  </span>
                </span>
              </label>
            ))}
          </div>
        ))}
      </div>
      {problem ? (
        <p id="event_types-problem" className="mt-1.5 font-medium text-bad text-small">
          {problem}
        </p>
      ) : null}
    </fieldset>
  )
}

/** Returns the message key of an event: keys cannot contain a dot. */
function messageKeyOf<Type extends string>(type: Type) {
  return type.replace('.', '_') as Type extends `${infer A}.${infer B}` ? `${A}_${B}` : never
}

/** Choice of full or masked documents; for roles that may not read them, what is sent. */
function DocumentChoice({ endpoint }: { endpoint: Endpoint | undefined }) {
  const t = useTranslations('endpoints')
  const mayChoose = useHasPermission()('payers:read')
  const isFull = endpoint?.full_documents ?? false
  if (!mayChoose)
    return (
      <p className="text-muted text-small">
        {t(isFull ? 'documentsUntilMoved' : 'documentsMasked')}
      </p>
    )
  return (
    <label className="flex items-start gap-2.5">
      <input
        type="checkbox"
        name="full_documents"
        defaultChecked={isFull}
        className="mt-0.5 size-[18px] shrink-0 accent-accent"
      />
      <span className="min-w-0">
        <span className="block font-medium">{t('documents')}</span>
        <span className="block text-muted text-small">{t('documentsText')}</span>
      </span>
    </label>
  )
}
