'use client'

import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { LimitsForm } from '#app/admin/limits-form.tsx'
import { useApi } from '#components/form/api.ts'
import { editFormProps, SaveButton, useForm } from '#components/form/form.tsx'
import { moneyText } from '#components/format/format.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { Select } from '#components/ui/field.tsx'
import { type AccountLimits, accountLimits, LIMIT_NAMES } from '#lib/accounts/schema.ts'
import { AssignedConnections, type ConnectionLine } from '#lib/banks/schema.ts'

interface ConnectionsFormProps {
  accountId: string
  assigned: AssignedConnections
  /** Connections for production that are not disabled. */
  connections: ConnectionLine[]
}

const FIELDS = { receiving_id: 'receives', paying_id: 'pays' } as const
const NAMES = ['receiving_id', 'paying_id'] as const

/** Connections of an account in live mode; without any that can be chosen, how to add one. */
export function ConnectionsForm({ accountId, assigned, connections }: ConnectionsFormProps) {
  const t = useTranslations('adminAccount')
  const api = useApi()
  const [stored, setStored] = useState(assigned)
  const [isUnchanged, setUnchanged] = useState(true)
  const [isSaved, setSaved] = useState(false)
  const form = useForm({
    schema: AssignedConnections,
    read: readAssigned,
    send: async body => {
      const path = `/admin/accounts/${accountId}/connections`
      setStored((await api.send<{ data: AssignedConnections }>('PUT', path, { body })).data)
      setUnchanged(true)
      setSaved(true)
    },
  })
  const failing = connections.filter(
    ({ id, state }) => NAMES.some(name => stored[name] === id) && state !== 'passed',
  )
  const listChoices = (name: keyof typeof FIELDS) =>
    connections.filter(
      connection =>
        connection.id === stored[name] ||
        (connection.state === 'passed' && connection[FIELDS[name]]),
    )
  if (!isSaved && NAMES.every(name => listChoices(name).length === 0)) return <NoConnection />
  return (
    <form
      {...editFormProps(form, isUnchanged, data => {
        const current = readAssigned(data)
        setSaved(false)
        setUnchanged(NAMES.every(name => current[name] === stored[name]))
      })}
      className="grid gap-5"
    >
      {NAMES.map(name => (
        <Select
          key={name}
          label={t(`connections.${name}`)}
          name={name}
          defaultValue={stored[name] ?? ''}
          problem={form.problems[name] ? t('connections.invalid') : null}
        >
          <option value="">{t(`connections.none.${name}`)}</option>
          {listChoices(name).map(({ id, name: label }) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </Select>
      ))}
      {failing.map(({ id, name }) => (
        <p key={id} className="font-medium text-bad text-small">
          {t('connections.failing', { name })}
        </p>
      ))}
      <PayingLimits connection={connections.find(({ id }) => id === stored.paying_id)} />
      <SaveButton
        isBusy={form.isBusy}
        isSaved={isSaved}
        failure={form.failure}
        isUnchanged={isUnchanged}
      />
    </form>
  )
}

/** Limits that the operator set for the connection, for all accounts together. */
function PayingLimits({ connection }: { connection: ConnectionLine | undefined }) {
  const t = useTranslations('adminAccount')
  const locale = useLocale()
  if (!connection) return null
  const { name, limits } = connection
  const { payout_max: payoutMax, payout_day_max: dayMax } = limits
  if (payoutMax === null && dayMax === null) return null
  const values = {
    name,
    payout: moneyText(payoutMax ?? 0, locale),
    day: moneyText(dayMax ?? 0, locale),
  }
  const key = dayMax === null ? 'limitPayout' : payoutMax === null ? 'limitDay' : 'limits'
  return <p className="text-muted text-small">{t(`connections.${key}`, values)}</p>
}

function NoConnection() {
  const t = useTranslations('adminAccount')
  return (
    <div className="grid gap-3 text-small">
      <p>{t('connections.missing')}</p>
      <div>
        <Link href="/admin/banks" prefetch={false} className={buttonClass('quiet')}>
          {t('connections.open')}
        </Link>
      </div>
    </div>
  )
}

function readAssigned(data: FormData): AssignedConnections {
  const read = (name: string) => String(data.get(name) ?? '') || null
  return { receiving_id: read('receiving_id'), paying_id: read('paying_id') }
}

const HINTS: Partial<Record<keyof AccountLimits, 'limit.night' | 'limit.day'>> = {
  night_max: 'limit.night',
  day_max: 'limit.day',
}

export function AccountLimitsForm({
  accountId,
  limits,
}: {
  accountId: string
  limits: AccountLimits
}) {
  const t = useTranslations('adminAccount')
  return (
    <LimitsForm
      path={`/admin/accounts/${accountId}/limits`}
      schema={accountLimits}
      names={LIMIT_NAMES}
      limits={limits}
      textsOf={name => {
        const hint = HINTS[name]
        return { label: t(`limit.${name}`), ...(hint && { hint: t(hint) }) }
      }}
      none={t('limit.none')}
      invalid={t('limit.invalid')}
    />
  )
}
