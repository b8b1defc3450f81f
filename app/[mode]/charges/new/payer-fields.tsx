'use client'

import { useTranslations } from 'next-intl'
import { useApi } from '#components/form/api.ts'
import { Field } from '#components/ui/field.tsx'
import { formatTaxId } from '#lib/core/pix/tax-id.ts'

export type ProblemFor = (name: string, text: string) => string | null

export function PayerFields({ problemFor }: { problemFor: ProblemFor }) {
  const t = useTranslations()
  const { mode } = useApi().scope
  return (
    <fieldset className="grid gap-4 md:grid-cols-2">
      <legend className="mb-3 font-display font-semibold text-title">{t('newCharge.payer')}</legend>
      <Field
        label={t('newCharge.client_name')}
        name="client_name"
        autoComplete="off"
        problem={problemFor('client_name', t('newCharge.nameWrong'))}
      />
      <Field
        label={t('newCharge.client_email')}
        name="client_email"
        type="email"
        autoComplete="off"
        hint={mode === 'test' ? t('newCharge.emailHint') : null}
        problem={problemFor('client_email', t('newCharge.emailWrong'))}
      />
      <Field
        label={t('newCharge.client_doc')}
        name="client_doc"
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        problem={problemFor('client_doc', t(`newCharge.docWrong.${mode}`))}
        onBlur={event => {
          event.currentTarget.value = formatTaxId(event.currentTarget.value)
        }}
      />
      <Field
        label={t('newCharge.client_phone')}
        name="client_phone"
        note={t('ui.optional')}
        type="tel"
        autoComplete="off"
        problem={problemFor('client_phone', t('newCharge.phoneWrong'))}
      />
    </fieldset>
  )
}
