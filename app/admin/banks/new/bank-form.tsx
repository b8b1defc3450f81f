'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { CredentialsFields, readCredentials } from '#app/admin/banks/credentials-fields.tsx'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { FileField } from '#components/form/file-field.tsx'
import { type Form, useForm } from '#components/form/form.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field, Select, TextArea } from '#components/ui/field.tsx'
import { Section } from '#components/ui/sheet.tsx'
import { BankRequest, ENVIRONMENTS } from '#lib/banks/schema.ts'
import { BANK_KINDS, BANK_NAMES, type BankKind } from '#lib/banks/states.ts'

interface BankFormProps {
  profiles: string[]
  /** Profiles whose banks want the key of an application. */
  withAppKey: string[]
}

const SECTION_GRID = 'grid grid-cols-[minmax(0,1fr)] gap-5'

export function BankForm({ profiles, withAppKey }: BankFormProps) {
  const t = useTranslations('bankForm')
  const api = useApi()
  const router = useRouter()
  const [kind, setKind] = useState<BankKind>('efi')
  const [profile, setProfile] = useState('standard')
  const form = useForm({
    schema: BankRequest,
    read: readBank,
    send: async (body, idempotencyKey) => {
      const { data } = await api.post('/admin/banks', {
        body,
        idempotencyKey,
      })
      router.push(`/admin/banks/${data.id}`)
    },
  })
  const { problems } = form
  const isApiPix = kind === 'api_pix'
  return (
    <form {...form.props} className="grid max-w-[640px] grid-cols-[minmax(0,1fr)] gap-6">
      <Section title={t('bankSection')}>
        <div className={SECTION_GRID}>
          <Field
            label={t('name')}
            name="name"
            maxLength={60}
            autoComplete="off"
            hint={t('nameHint')}
            problem={problems.name ? t('problem.name') : null}
          />
          <Select
            label={t('kind')}
            name="kind"
            value={kind}
            onChange={event => setKind(event.target.value as BankKind)}
            problem={problems.kind ? t('problem.kind') : null}
          >
            {[...BANK_KINDS].reverse().map(name => (
              <option key={name} value={name}>
                {name === 'api_pix' ? t('kindOther') : BANK_NAMES[name]}
              </option>
            ))}
          </Select>
          {isApiPix ? (
            <Select
              label={t('profile')}
              name="profile"
              value={profile}
              hint={t('profileHint')}
              onChange={event => setProfile(event.target.value)}
              problem={problems.profile ? t('problem.profile') : null}
            >
              {profiles.map(name => (
                <option key={name}>{name}</option>
              ))}
            </Select>
          ) : null}
          <EnvironmentField problem={problems.environment} />
        </div>
      </Section>
      <Section title={t('keysSection')}>
        <div className={SECTION_GRID}>
          <KeyFields problems={problems} hasPayouts={!isApiPix} />
        </div>
      </Section>
      <Section title={t('credentialsSection')}>
        <div className={SECTION_GRID}>
          <CredentialsFields form={form} hasAppKey={isApiPix && withAppKey.includes(profile)} />
        </div>
      </Section>
      <Section title={t('moreSection')} text={t('moreText')}>
        <div className={SECTION_GRID}>
          <AddressFields problems={problems} />
        </div>
      </Section>
      <Problem error={form.failure} />
      <div>
        <Button variant="primary" type="submit" disabled={form.isBusy}>
          {form.isBusy ? t('busy') : t('save')}
        </Button>
      </div>
    </form>
  )
}

function EnvironmentField({ problem }: { problem: string | undefined }) {
  const t = useTranslations('bankForm')
  const tBanks = useTranslations('banks')
  return (
    <Select
      label={t('environment')}
      name="environment"
      defaultValue="production"
      hint={t('environmentHint')}
      problem={problem ? t('problem.environment') : null}
    >
      {[...ENVIRONMENTS].reverse().map(name => (
        <option key={name} value={name}>
          {tBanks(`environment.${name}`)}
        </option>
      ))}
    </Select>
  )
}

function readBank(data: FormData) {
  const read = (name: string) => String(data.get(name) ?? '').trim() || undefined
  const keys = (read('receiving_keys') ?? '').split(/[\s,;]+/).filter(Boolean)
  const inFlight = read('payouts_in_flight')
  return {
    name: read('name'),
    kind: read('kind'),
    environment: read('environment'),
    profile: read('profile'),
    receiving_keys: keys,
    paying_key: read('paying_key'),
    api_url: read('api_url'),
    token_url: read('token_url'),
    trusted_certificates: read('trusted_certificates'),
    payouts_in_flight: inFlight === undefined ? undefined : Number(inFlight),
    ...readCredentials(data),
  }
}

interface FieldsProps {
  problems: Form['problems']
}

/** Pix keys of the account; API Pix has no payouts, so none to pay from. */
function KeyFields({ problems, hasPayouts }: FieldsProps & { hasPayouts: boolean }) {
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
function AddressFields({ problems }: FieldsProps) {
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
