'use client'

import { useMutation } from '@tanstack/react-query'
import { Check, Eye, Pause } from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { LimitsForm } from '#app/admin/limits-form.tsx'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { editFormProps, SaveButton, useForm } from '#components/form/form.tsx'
import { ExactTime, Money, moneyText } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { Fact, Facts } from '#components/ui/details.tsx'
import { Select } from '#components/ui/field.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import {
  type AccountLimits,
  type ApprovalRule,
  accountLimits,
  LIMIT_NAMES,
} from '#lib/accounts/schema.ts'
import { AssignedConnections, type ConnectionLine } from '#lib/banks/schema.ts'
import type { ApprovalSettings } from '#lib/dashboard/schema.ts'
import type { AccountDetail } from '#lib/operator/schema.ts'

const ReasonDialog = lazyDialog(() => import('#app/admin/reason-dialog.tsx'), 'ReasonDialog')

type StatusAction = 'activate' | 'suspend'

export function ViewButton({ id, name }: Pick<AccountDetail, 'id' | 'name'>) {
  const t = useTranslations('viewing')
  const api = useApi()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button variant="quiet" onClick={() => setOpen(true)}>
        <Eye size={16} aria-hidden />
        {t('begin')}
      </Button>
      {isOpen ? (
        <ReasonDialog
          title={t('title', { name })}
          description={t('text')}
          action={t('begin')}
          send={async body => {
            await api.post('/admin/accounts/[id]/view', { params: { id }, body })
            // Full page load: the frame of this page belongs to another account or none.
            location.assign('/')
          }}
          onClose={() => setOpen(false)}
        />
      ) : null}
    </>
  )
}

export function AccountActions({ account }: { account: AccountDetail }) {
  const t = useTranslations('adminAccount')
  const api = useApi()
  const [confirming, setConfirming] = useState<StatusAction | null>(null)
  const { id, name, status } = account
  return (
    <>
      {status === 'suspended' ? null : (
        <Button variant="quiet" onClick={() => setConfirming('suspend')}>
          <Pause size={16} aria-hidden />
          {t('suspend')}
        </Button>
      )}
      {status === 'active' ? null : (
        <Button variant="primary" onClick={() => setConfirming('activate')}>
          <Check size={16} aria-hidden />
          {t('activate')}
        </Button>
      )}
      {confirming === 'activate' ? (
        <ReasonDialog
          title={t('activateTitle', { name })}
          description={t('activateText')}
          action={t('activate')}
          send={body => api.post('/admin/accounts/[id]/activate', { params: { id }, body })}
          isOptional
          onClose={() => setConfirming(null)}
        />
      ) : null}
      {confirming === 'suspend' ? (
        <ReasonDialog
          title={t('suspendTitle', { name })}
          description={t('suspendText')}
          action={t('suspend')}
          send={body => api.post('/admin/accounts/[id]/suspend', { params: { id }, body })}
          isDestructive
          onClose={() => setConfirming(null)}
        />
      ) : null}
    </>
  )
}

interface RevokeAllButtonProps {
  accountId: string
  name: string
  count: number
}

export function RevokeAllButton({ accountId, name, count }: RevokeAllButtonProps) {
  const t = useTranslations('adminTokens')
  const api = useApi()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button variant="plain" onClick={() => setOpen(true)} className="text-bad!">
        {t('revokeAll')}
      </Button>
      {isOpen ? (
        <ReasonDialog
          title={t('revokeAllTitle', { count, account: name })}
          description={t('revokeAllText')}
          action={t('revokeAll')}
          send={body =>
            api.post('/admin/accounts/[id]/tokens/revoke', { params: { id: accountId }, body })
          }
          isDestructive
          onClose={() => setOpen(false)}
        />
      ) : null}
    </>
  )
}

interface ApprovalChangeProps {
  accountId: string
  settings: ApprovalSettings
}

/** The account's rule of approval; an admin confirms the weaker one that an owner requested. */
export function ApprovalChange({ accountId, settings: initialSettings }: ApprovalChangeProps) {
  const t = useTranslations('adminAccount')
  const api = useApi()
  const [settings, setSettings] = useState(initialSettings)
  const { change } = settings
  const confirmation = useMutation({
    mutationFn: (id: string) =>
      api.post('/admin/accounts/[id]/approval', { params: { id: accountId }, body: { id } }),
    onSuccess: ({ data }) => setSettings(data),
  })
  return (
    <div className="grid gap-4">
      <Rule rule={settings} />
      {change ? (
        <>
          <p className="text-small">
            {t('approval.change', { name: change.requester })}{' '}
            <ExactTime at={change.expires_at} format="dated" />.
          </p>
          <Rule rule={change} />
          <Problem error={confirmation.error} />
          {change.can_confirm ? (
            <div>
              <Button
                variant="quiet"
                disabled={confirmation.isPending}
                onClick={() => confirmation.mutate(change.id)}
              >
                {t('approval.confirm')}
              </Button>
            </div>
          ) : (
            <p className="text-small">{t('approval.other')}</p>
          )}
        </>
      ) : null}
    </div>
  )
}

function Rule({ rule }: { rule: ApprovalRule }) {
  const t = useTranslations('adminAccount')
  return (
    <Facts>
      <Fact name={t('approval.newKeys')}>
        {rule.new_keys ? t('approval.on') : t('approval.off')}
      </Fact>
      <Fact name={t('approval.above')}>
        {rule.above === null ? t('approval.off') : <Money cents={rule.above} />}
      </Fact>
      <Fact name={t('approval.dayAbove')}>
        {rule.day_above === null ? t('approval.off') : <Money cents={rule.day_above} />}
      </Fact>
    </Facts>
  )
}

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
      const request = { params: { id: accountId }, body }
      setStored((await api.put('/admin/accounts/[id]/connections', request)).data)
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
  const api = useApi()
  return (
    <LimitsForm
      store={body => api.put('/admin/accounts/[id]/limits', { params: { id: accountId }, body })}
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
