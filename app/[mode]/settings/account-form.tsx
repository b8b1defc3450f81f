'use client'

import { useMutation } from '@tanstack/react-query'
import { Clock } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { editFormProps, SaveButton, useForm } from '#components/form/form.tsx'
import { ExactTime, Money } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import {
  type AccountChange,
  type ApprovalRule,
  accountChange,
  approvalRule,
  isRuleOff,
  SHOWN_NAME_MAX,
} from '#lib/accounts/schema.ts'
import { formatReais, parseReais } from '#lib/core/money.ts'
import { foldText } from '#lib/core/pix/br-code.ts'
import { formatTaxId, normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import type { ApprovalSettings } from '#lib/dashboard/schema.ts'

interface AccountFormProps {
  account: AccountChange
  canWrite: boolean
  /** Time zone options, rendered on the server because there are several hundred. */
  timeZones: ReactNode
}

export function AccountForm({ account, canWrite, timeZones }: AccountFormProps) {
  const t = useTranslations('settings')
  const api = useApi()
  const router = useRouter()
  const locale = useLocale()
  const [stored, setStored] = useState(account)
  const [current, setCurrent] = useState(account)
  const [isSaved, setSaved] = useState(false)
  const form = useForm({
    schema: accountChange.test,
    read: data => readFields(data, locale),
    send: async body => {
      await api.patch('/dashboard/account', { body })
      setStored(body)
      setCurrent(body)
      setSaved(true)
      router.refresh()
    },
  })
  const names = Object.keys(stored) as (keyof AccountChange)[]
  const isUnchanged = names.every(name => String(stored[name]) === String(current[name]))
  const { problems } = form
  const threshold = stored.charge_review_above
  return (
    <form
      {...editFormProps(form, isUnchanged, data => {
        setSaved(false)
        setCurrent({ ...stored, ...readTrimmedFields(data, locale) })
      })}
    >
      <fieldset
        disabled={!canWrite}
        className="grid grid-cols-[minmax(0,1fr)] gap-5 sm:grid-cols-2"
      >
        <div className="sm:col-span-2">
          <Field
            label={t('account.name')}
            name="name"
            maxLength={100}
            autoComplete="organization"
            defaultValue={stored.name}
            hint={t('account.nameShown', { name: foldText(current.name, SHOWN_NAME_MAX) || '…' })}
            problem={problems.name ? t('account.nameInvalid') : null}
          />
        </div>
        <Field
          label={t('account.city')}
          name="city"
          maxLength={30}
          autoComplete="address-level2"
          defaultValue={stored.city}
          hint={t('account.cityHint')}
          problem={problems.city ? t('account.cityInvalid') : null}
        />
        <ExpirySelect storedS={stored.expires_in} />
        <div className="sm:col-span-2">
          <Select
            label={t('account.timeZone')}
            name="time_zone"
            defaultValue={stored.time_zone}
            hint={t('account.timeZoneHint')}
            problem={problems.time_zone ? t('account.timeZoneInvalid') : null}
          >
            {timeZones}
          </Select>
        </div>
        <div className="sm:col-span-2">
          <MoneyField
            label={t('account.reviewAbove')}
            name="charge_review_above"
            defaultValue={threshold === null ? '' : formatReais(threshold, locale)}
            placeholder={t('account.reviewNone')}
            hint={t('account.reviewAboveHint')}
            problem={problems.charge_review_above ? t('account.reviewAboveInvalid') : null}
          />
        </div>
        <Field
          label={t('account.cnpj')}
          name="cnpj"
          note={t('account.optional')}
          maxLength={18}
          autoComplete="off"
          defaultValue={stored.cnpj ? formatTaxId(stored.cnpj) : ''}
          hint={t('account.cnpjHint')}
          problem={problems.cnpj ? t('account.cnpjInvalid') : null}
        />
        <Field
          label={t('account.shopUrl')}
          name="shop_url"
          type="url"
          note={t('account.optional')}
          autoComplete="url"
          defaultValue={stored.shop_url ?? ''}
          hint={t('account.shopUrlHint')}
          problem={problems.shop_url ? t('account.shopUrlInvalid') : null}
        />
        <label className="flex items-start gap-3 sm:col-span-2">
          <input
            type="checkbox"
            name="repeats_external_ids"
            defaultChecked={stored.repeats_external_ids}
            className="mt-1 size-4 shrink-0 accent-accent"
          />
          <span>
            <span className="block font-semibold">{t('account.repeats')}</span>
            <span className="block text-muted text-small">{t('account.repeatsHint')}</span>
          </span>
        </label>
        {canWrite ? (
          <div className="sm:col-span-2">
            <SaveButton
              isBusy={form.isBusy}
              isSaved={isSaved}
              failure={form.failure}
              isUnchanged={isUnchanged}
            />
          </div>
        ) : null}
      </fieldset>
    </form>
  )
}

/** An invalid amount becomes NaN, which the schema refuses. */
function readTrimmedFields(data: FormData, locale: string): AccountChange {
  const text = (name: string) => String(data.get(name) ?? '').trim()
  const [name, city, time_zone] = [text('name'), text('city'), text('time_zone')]
  const threshold = text('charge_review_above')
  const charge_review_above =
    threshold === '' ? null : (parseReais(threshold, locale) ?? Number.NaN)
  return {
    name,
    city,
    expires_in: Number(data.get('expires_in')),
    time_zone,
    charge_review_above,
    repeats_external_ids: data.has('repeats_external_ids'),
    shop_url: text('shop_url') || null,
    cnpj: text('cnpj') === '' ? null : normalizeTaxId(text('cnpj')),
  }
}

function readFields(data: FormData, locale: string) {
  const { name, city, ...rest } = readTrimmedFields(data, locale)
  return { name: name || undefined, city: city || undefined, ...rest }
}

const MINUTE_S = 60
const HOUR_S = 3_600
const DAY_S = 86_400
const CHOICES_S = [
  15 * MINUTE_S,
  30 * MINUTE_S,
  HOUR_S,
  2 * HOUR_S,
  6 * HOUR_S,
  12 * HOUR_S,
  DAY_S,
  2 * DAY_S,
  3 * DAY_S,
  7 * DAY_S,
  15 * DAY_S,
  30 * DAY_S,
]

/** Offers the usual times, and the stored one whatever it is. */
function ExpirySelect({ storedS }: { storedS: number }) {
  const t = useTranslations('settings')
  const choices = [...new Set([...CHOICES_S, storedS])].sort((one, other) => one - other)
  const textOf = (seconds: number) => {
    if (seconds % DAY_S === 0) return t('span.days', { count: seconds / DAY_S })
    if (seconds % HOUR_S === 0) return t('span.hours', { count: seconds / HOUR_S })
    if (seconds % MINUTE_S === 0) return t('span.minutes', { count: seconds / MINUTE_S })
    return t('span.seconds', { count: seconds })
  }
  return (
    <Select
      label={t('account.expiresIn')}
      name="expires_in"
      defaultValue={storedS}
      hint={t('account.expiresInHint')}
    >
      {choices.map(seconds => (
        <option key={seconds} value={seconds}>
          {textOf(seconds)}
        </option>
      ))}
    </Select>
  )
}

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
      const { data } = await api.patch(path, { body })
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
  const decision = useMutation({
    mutationFn: (choice: 'confirm' | 'cancel') =>
      choice === 'confirm'
        ? api.post('/dashboard/account/approval/confirm', { body: { id: change.id } })
        : api.delete('/dashboard/account/approval'),
    onSuccess: ({ data }) => onDecided(data),
  })
  const isBusy = decision.isPending || decision.isSuccess
  return (
    <div className="grid gap-3">
      <Notice tone="wait" icon={Clock}>
        {t('change', { name: change.requester })} <ChangeText change={change} />{' '}
        {t(change.can_confirm ? 'changeConfirm' : 'changeWaits')} {t('changeUntil')}{' '}
        <ExactTime at={change.expires_at} format="dated" />.
      </Notice>
      <Problem error={decision.error} />
      {canWrite ? (
        <div className="flex flex-wrap gap-3">
          {change.can_confirm ? (
            <Button variant="primary" disabled={isBusy} onClick={() => decision.mutate('confirm')}>
              {t('confirm')}
            </Button>
          ) : null}
          <Button variant="quiet" disabled={isBusy} onClick={() => decision.mutate('cancel')}>
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
