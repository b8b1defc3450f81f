'use client'

import { useRouter } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
// Not lazy: the token of the response could not be shown again if loading the dialog failed.
import { IssuedTokenDialog, type TokenWithSecret } from '#app/[mode]/settings/tokens/dialogs.tsx'
import {
  AddressField,
  PermissionFields,
  readAddresses,
} from '#app/[mode]/settings/tokens/token-fields.tsx'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Sheet } from '#components/ui/sheet.tsx'
import { parseDay } from '#lib/core/day.ts'
import { tokenRequest } from '#lib/tokens/schema.ts'

export function TokenForm({ origin }: { origin: string }) {
  const t = useTranslations('tokens')
  const locale = useLocale()
  const api = useApi()
  const router = useRouter()
  const [issued, setIssued] = useState<TokenWithSecret | null>(null)
  const form = useForm({
    schema: tokenRequest.test,
    read: data => readFields(data, locale),
    send: async (body, idempotencyKey) => {
      const request = { body, idempotencyKey }
      const response = await api.post('/tokens', request)
      setIssued(response.data)
    },
  })
  const { mode } = api.scope
  return (
    <Sheet className="max-w-[720px] px-4 py-6 md:px-7">
      <form {...form.props} className="grid grid-cols-[minmax(0,1fr)] gap-6">
        <p className="text-muted">{t(`new.mode.${mode}`)}</p>
        <Field
          label={t('new.name')}
          name="name"
          maxLength={100}
          autoComplete="off"
          hint={t('new.nameHint')}
          problem={form.problems.name ? t('new.nameInvalid') : null}
        />
        <PermissionFields isWrong={form.problems.permissions !== undefined} />
        <ExpiryFields isWrong={form.problems.expires_on !== undefined} />
        <AddressField isWrong={form.problems.allowed_addresses !== undefined} />
        <Problem error={form.failure} />
        <div className="flex flex-wrap gap-3">
          <Button variant="primary" type="submit" disabled={form.isBusy}>
            {form.isBusy ? t('busy') : t('create')}
          </Button>
        </div>
      </form>
      {issued ? (
        <IssuedTokenDialog
          issued={issued}
          origin={origin}
          onClose={() => router.push(`/${mode}/settings/tokens`)}
        />
      ) : null}
    </Sheet>
  )
}

function readFields(data: FormData, locale: string) {
  const expiry = data.get('expires_in_days')
  const isDate = expiry === 'date'
  return {
    name: String(data.get('name')).trim() || undefined,
    permissions: data.getAll('permissions'),
    expires_in_days: isDate || expiry === 'never' ? undefined : Number(expiry),
    // An empty date is sent, and refused; an absent date would mean that the token never expires.
    expires_on: isDate ? (parseDay(String(data.get('expires_on') ?? ''), locale) ?? '') : undefined,
    allowed_addresses: readAddresses(data),
  }
}

const DayField = lazyDialog(() => import('#components/ui/day-field.tsx'), 'DayField')

const EXPIRY_CHOICES = ['never', '30', '90', '365', 'date'] as const

function ExpiryFields({ isWrong }: { isWrong: boolean }) {
  const t = useTranslations('tokens')
  const [expiry, setExpiry] = useState<string>('90')
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Select
        label={t('new.expiry')}
        name="expires_in_days"
        value={expiry}
        onChange={event => setExpiry(event.currentTarget.value)}
        hint={expiry === 'never' ? undefined : t('new.expiryHint')}
      >
        {EXPIRY_CHOICES.map(value => (
          <option key={value} value={value}>
            {t(`new.life.${value}`)}
          </option>
        ))}
      </Select>
      {expiry === 'date' ? (
        <DayField
          label={t('new.expiresOn')}
          name="expires_on"
          hint={t('new.expiresOnHint')}
          problem={isWrong ? t('new.expiresOnInvalid') : null}
        />
      ) : null}
    </div>
  )
}
