'use client'

import { useTranslations } from 'next-intl'
import { FileField } from '#app/admin/banks/file-field.tsx'
import type { Form } from '#components/form/form.tsx'
import { Field, TextArea } from '#components/ui/field.tsx'

interface FieldsProps {
  problems: Form['problems']
}

/** Pix keys of the account; API Pix has no payouts, so none to pay from. */
export function KeyFields({ problems, hasPayouts }: FieldsProps & { hasPayouts: boolean }) {
  const t = useTranslations('bankForm')
  return (
    <>
      <TextArea
        label={t('receiving_keys')}
        name="receiving_keys"
        rows={2}
        spellCheck={false}
        hint={t('receiving_keysHint')}
        problem={problems.receiving_keys ? t('problem.receiving_keys') : null}
      />
      {hasPayouts ? (
        <>
          <Field
            label={t('paying_key')}
            note={t('optional')}
            name="paying_key"
            autoComplete="off"
            spellCheck={false}
            hint={t('paying_keyHint')}
            problem={problems.paying_key ? t('problem.paying_key') : null}
          />
          <Field
            label={t('payouts_in_flight')}
            note={t('optional')}
            name="payouts_in_flight"
            inputMode="numeric"
            autoComplete="off"
            placeholder="1"
            hint={t('payouts_in_flightHint')}
            problem={problems.payouts_in_flight ? t('problem.payouts_in_flight') : null}
          />
        </>
      ) : null}
    </>
  )
}

/** Where the bank is, if it is not where its profile says. */
export function AddressFields({ problems }: FieldsProps) {
  const t = useTranslations('bankForm')
  return (
    <>
      {(['api_url', 'token_url'] as const).map(name => (
        <Field
          key={name}
          label={t(name)}
          note={t('optional')}
          name={name}
          type="url"
          autoComplete="off"
          placeholder="https://"
          problem={problems[name] ? t(`problem.${name}`) : null}
        />
      ))}
      <FileField
        label={t('trusted_certificates')}
        note={t('optional')}
        name="trusted_certificates"
        accept=".pem,.crt,.cer"
        as="text"
        hint={t('trusted_certificatesHint')}
        problem={problems.trusted_certificates ? t('problem.trusted_certificates') : null}
      />
    </>
  )
}
