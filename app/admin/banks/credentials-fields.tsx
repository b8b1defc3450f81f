'use client'

import { useTranslations } from 'next-intl'
import { useRef, useState } from 'react'
import type { Form } from '#components/form/form.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'

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
      <Field
        label={t('client_secret')}
        note={t('optional')}
        name="client_secret"
        type="password"
        autoComplete="off"
        problem={problem('client_secret')}
      />
      {hasAppKey ? (
        <Field
          label={t('app_key')}
          name="app_key"
          type="password"
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
      <Field
        label={t('passphrase')}
        note={t('optional')}
        name="passphrase"
        type="password"
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

interface FileFieldProps {
  label: string
  name: string
  accept: string
  /** How the form sends the file. */
  as: 'base64' | 'text'
  hint?: string
  note?: string
  problem?: string | null
}

/** File field: the form sends the contents of the file; the page shows its name only. */
export function FileField({ label, name, accept, as, hint, note, problem }: FileFieldProps) {
  const t = useTranslations('bankForm')
  const input = useRef<HTMLInputElement>(null)
  const [file, setFile] = useState<{ name: string; contents: string } | null>(null)
  const id = `${name}-file`
  async function read(chosen: File | undefined) {
    if (!chosen) return
    const bytes = new Uint8Array(await chosen.arrayBuffer())
    const text = Array.from(bytes, byte => String.fromCharCode(byte)).join('')
    const contents = as === 'base64' ? btoa(text) : new TextDecoder().decode(bytes)
    setFile({ name: chosen.name, contents })
  }
  return (
    <div className="min-w-0">
      <label htmlFor={id} className="mb-1.5 block font-semibold text-small">
        {label}
        {note ? <span className="ml-1.5 font-normal text-muted">{note}</span> : null}
      </label>
      <input
        ref={input}
        id={id}
        type="file"
        accept={accept}
        className="sr-only"
        tabIndex={-1}
        aria-invalid={problem ? true : undefined}
        aria-describedby={problem ? `${id}-problem` : undefined}
        onChange={event => read(event.target.files?.[0])}
      />
      <input type="hidden" name={name} value={file?.contents ?? ''} />
      <div className="flex min-h-11 min-w-0 items-center gap-3">
        <Button
          variant="quiet"
          className="shrink-0"
          aria-label={`${label}: ${t('choose')}`}
          onClick={() => input.current?.click()}
        >
          {t('choose')}
        </Button>
        <span className="min-w-0 truncate text-muted text-small">{file?.name ?? t('noFile')}</span>
      </div>
      {problem ? (
        <p id={`${id}-problem`} className="mt-1.5 font-medium text-bad text-small">
          {problem}
        </p>
      ) : hint ? (
        <p className="mt-1.5 text-muted text-small">{hint}</p>
      ) : null}
    </div>
  )
}
