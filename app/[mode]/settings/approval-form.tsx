'use client'

import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { PendingChange } from '#app/[mode]/settings/pending-change.tsx'
import { useApi } from '#components/form/api.ts'
import { editFormProps, useForm } from '#components/form/form.ts'
import { SaveButton } from '#components/form/save.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
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
