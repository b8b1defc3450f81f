'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { FileField } from '#components/form/file-field.tsx'
import type { Form } from '#components/form/form.tsx'
import { Field, PasswordField, Select } from '#components/ui/field.tsx'

const FORMS = ['p12', 'pem'] as const
type IdentityForm = (typeof FORMS)[number]

const FILE_NAMES = {
  p12: ['p12'],
  pem: ['certificate', 'private_key'],
} as const
const ACCEPTED = {
  p12: '.p12,.pfx',
  certificate: '.pem,.crt,.cer',
  private_key: '.pem,.key',
} as const

interface CredentialsFieldsProps {
  form: Form
  /** Whether the bank wants the key of an application. */
  hasAppKey: boolean
}

/** Fields of a bank's credentials, which are sent and never shown again. */
export function CredentialsFields({ form, hasAppKey }: CredentialsFieldsProps) {
  const t = useTranslations('bankForm')
  const ui = useTranslations('ui')
  const [identity, setIdentity] = useState<IdentityForm>('p12')
  const problem = (name: string) =>
    form.problems[name] ? t(`problem.${name}` as 'problem.client_id') : null
  return (
    <>
      <Field
        label={t('client_id')}
        name="client_id"
        autoComplete="off"
        spellCheck={false}
        problem={problem('client_id')}
      />
      <PasswordField
        label={t('client_secret')}
        note={t('optional')}
        name="client_secret"
        showLabel={ui('show')}
        autoComplete="off"
        problem={problem('client_secret')}
      />
      {hasAppKey ? (
        <PasswordField
          label={t('app_key')}
          name="app_key"
          showLabel={ui('show')}
          autoComplete="off"
          problem={problem('app_key')}
        />
      ) : null}
      <Select
        label={t('form')}
        name="identity"
        value={identity}
        onChange={event => setIdentity(event.target.value as IdentityForm)}
      >
        {FORMS.map(name => (
          <option key={name} value={name}>
            {t(`formChoice.${name}`)}
          </option>
        ))}
      </Select>
      {FILE_NAMES[identity].map(name => (
        <FileField
          key={name}
          label={t(name)}
          name={name}
          accept={ACCEPTED[name]}
          as={name === 'p12' ? 'base64' : 'text'}
          problem={problem(name)}
        />
      ))}
      <PasswordField
        label={t('passphrase')}
        note={t('optional')}
        name="passphrase"
        showLabel={ui('show')}
        autoComplete="off"
        hint={t('passphraseHint')}
        problem={problem('passphrase')}
      />
    </>
  )
}

const NAMES = ['client_id', 'client_secret', 'app_key', 'certificate', 'private_key', 'p12']

/** Reads the fields; an empty one is absent. A required file that was not chosen is empty, so invalid. */
export function readCredentials(data: FormData): Record<string, string | undefined> {
  const read = (name: string) => String(data.get(name) ?? '').trim() || undefined
  const files = FILE_NAMES[data.get('identity') === 'pem' ? 'pem' : 'p12']
  return {
    ...Object.fromEntries(NAMES.map(name => [name, read(name)])),
    ...Object.fromEntries(files.map(name => [name, String(data.get(name) ?? '')])),
    passphrase: String(data.get('passphrase') ?? '') || undefined,
  }
}
