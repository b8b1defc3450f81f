'use client'

import { Clock } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useAction, useApi } from '#components/form/api.ts'
import { editFormProps, SaveButton, useForm } from '#components/form/form.tsx'
import { Problem } from '#components/form/problem.tsx'
import { ExactTime, Money } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { type ApprovalRule, approvalRule, isRuleOff } from '#lib/accounts/schema.ts'
import { formatReais, parseReais } from '#lib/core/money.ts'
import type { ApprovalSettings } from '#lib/dashboard/schema.ts'

interface ApprovalFormProps {
  initialSettings: ApprovalSettings
  canWrite: boolean
}

/** Which withdrawals need a second member. A weaker rule is stored as a change that waits. */
export function ApprovalForm({ initialSettings, canWrite }: ApprovalFormProps) {
  const t = useTranslations('approvalRule')
  const locale = useLocale()
  const api = useApi()
  const [settings, setSettings] = useState(initialSettings)
  const [isUnchanged, setUnchanged] = useState(true)
  const [isSaved, setSaved] = useState(false)
  const form = useForm({
    schema: approvalRule.test,
    read: data => readRule(data, locale),
    send: async body => {
      const path = '/dashboard/account/approval'
      const { data } = await api.send<{ data: ApprovalSettings }>('PATCH', path, { body })
      setSettings(data)
      setUnchanged(true)
      setSaved(data.change === null)
    },
  })
  const state = isRuleOff(settings) ? 'off' : settings.is_in_force ? 'on' : 'idle'
  return (
    <div className="grid gap-5">
      <p className="text-muted text-small">
        {state === 'off' && settings.approvers < 2
          ? t('state.alone')
          : t(`state.${state}`, { count: settings.approvers })}
      </p>
      {settings.change ? (
        <PendingChange change={settings.change} canWrite={canWrite} onDecided={setSettings} />
      ) : null}
      <form
        // The stored rule replaces the typed one while a change waits.
        key={`${settings.new_keys} ${settings.above} ${settings.day_above} ${settings.change?.id}`}
        {...editFormProps(form, isUnchanged, data => {
          setSaved(false)
          setUnchanged(isSameRule(readRule(data, locale), settings))
        })}
      >
        <fieldset disabled={!canWrite} className="grid gap-5">
          <label className="flex items-start gap-3">
            <input
              type="checkbox"
              name="new_keys"
              defaultChecked={settings.new_keys}
              className="mt-1 size-4 shrink-0 accent-accent"
            />
            <span>
              <span className="block font-semibold">{t('newKeys')}</span>
              <span className="block text-muted text-small">{t('newKeysHint')}</span>
            </span>
          </label>
          <MoneyField
            label={t('above')}
            name="above"
            defaultValue={amountText(settings.above, locale)}
            placeholder={t('none')}
            hint={t('aboveHint')}
            problem={form.problems.above ? t('aboveInvalid') : null}
          />
          <MoneyField
            label={t('dayAbove')}
            name="day_above"
            defaultValue={amountText(settings.day_above, locale)}
            placeholder={t('none')}
            hint={t('dayAboveHint')}
            problem={form.problems.day_above ? t('aboveInvalid') : null}
          />
          {canWrite ? (
            <SaveButton
              isBusy={form.isBusy}
              isSaved={isSaved}
              failure={form.failure}
              isUnchanged={isUnchanged}
            />
          ) : null}
        </fieldset>
      </form>
    </div>
  )
}

/** Reads the rule; an invalid amount becomes NaN, which the schema refuses. */
function readRule(data: FormData, locale: string): ApprovalRule {
  const amountOf = (name: string) => {
    const text = String(data.get(name) ?? '').trim()
    return text === '' ? null : (parseReais(text, locale) ?? Number.NaN)
  }
  const new_keys = data.get('new_keys') === 'on'
  return { new_keys, above: amountOf('above'), day_above: amountOf('day_above') }
}

function isSameRule(one: ApprovalRule, other: ApprovalRule): boolean {
  return (
    one.new_keys === other.new_keys &&
    one.above === other.above &&
    one.day_above === other.day_above
  )
}

function amountText(amount: number | null, locale: string): string {
  return amount === null ? '' : formatReais(amount, locale)
}

interface PendingChangeProps {
  change: NonNullable<ApprovalSettings['change']>
  canWrite: boolean
  onDecided: (settings: ApprovalSettings) => void
}

/** A weaker rule that waits for another owner; any owner may cancel it. */
function PendingChange({ change, canWrite, onDecided }: PendingChangeProps) {
  const t = useTranslations('approvalRule')
  const api = useApi()
  const decision = useAction(async (method: 'POST' | 'DELETE', path: string, body?: object) =>
    onDecided((await api.send<{ data: ApprovalSettings }>(method, path, { body })).data),
  )
  const path = '/dashboard/account/approval'
  const confirm = () => decision.run('POST', `${path}/confirm`, { id: change.id })
  const isBusy = decision.isBusy || decision.isDone
  return (
    <div className="grid gap-3">
      <Notice tone="wait" icon={Clock}>
        {t('change', { name: change.requester })} <ChangeText change={change} />{' '}
        {t(change.can_confirm ? 'changeConfirm' : 'changeWaits')} {t('changeUntil')}{' '}
        <ExactTime at={change.expires_at} format="dated" />.
      </Notice>
      <Problem error={decision.failure} />
      {canWrite ? (
        <div className="flex flex-wrap gap-3">
          {change.can_confirm ? (
            <Button variant="primary" disabled={isBusy} onClick={confirm}>
              {t('confirm')}
            </Button>
          ) : null}
          <Button variant="quiet" disabled={isBusy} onClick={() => decision.run('DELETE', path)}>
            {t('cancelChange')}
          </Button>
        </div>
      ) : null}
    </div>
  )
}

function ChangeText({ change }: Pick<PendingChangeProps, 'change'>) {
  const t = useTranslations('approvalRule')
  const { new_keys, above, day_above } = change
  return (
    <>
      {t(new_keys ? 'changeKeysOn' : 'changeKeysOff')}{' '}
      {above === null
        ? t('changeNoAmount')
        : t.rich('changeAmount', { amount: () => <Money cents={above} /> })}{' '}
      {day_above === null
        ? t('changeNoDayAmount')
        : t.rich('changeDayAmount', { amount: () => <Money cents={day_above} /> })}
    </>
  )
}
