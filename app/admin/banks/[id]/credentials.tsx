'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Findings } from '#app/admin/banks/[id]/findings.tsx'
import { CredentialsFields, readCredentials } from '#app/admin/banks/credentials-fields.tsx'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.tsx'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Section } from '#components/ui/sheet.tsx'
import { CredentialsRequest } from '#lib/banks/schema.ts'
import type { BankChecked } from '#lib/operator/banks/schema.ts'

interface RenewProps {
  bankId: string
  profile: string | null
}

/** Replaces the credentials, such as a certificate that ends, without a pause. */
export function RenewSection({ bankId, profile }: RenewProps) {
  const t = useTranslations('banks')
  const [isOpen, setOpen] = useState(false)
  const [checked, setChecked] = useState<BankChecked | null>(null)
  const isDone = checked?.code === 'ok'
  return (
    <Section title={t('renew.title')} text={t('renew.text')}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
        {checked ? (
          <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
            <p role="status" className={`font-semibold ${isDone ? 'text-ok' : 'text-bad'}`}>
              {isDone ? t('renew.done') : t('renew.kept')}
            </p>
            {isDone ? null : (
              <Findings findings={checked.findings.filter(({ level }) => level !== 'ok')} />
            )}
          </div>
        ) : null}
        {isOpen ? (
          <RenewForm
            {...{ bankId, profile }}
            onChecked={result => {
              setChecked(result)
              setOpen(result.code !== 'ok')
            }}
          />
        ) : (
          <div>
            <Button variant="quiet" onClick={() => setOpen(true)}>
              {t('renew.open')}
            </Button>
          </div>
        )}
      </div>
    </Section>
  )
}

interface RenewFormProps extends RenewProps {
  onChecked: (checked: BankChecked) => void
}

function RenewForm({ bankId, profile, onChecked }: RenewFormProps) {
  const t = useTranslations('banks')
  const api = useApi()
  const router = useRouter()
  const form = useForm({
    schema: CredentialsRequest,
    read: readCredentials,
    send: async body => {
      const path = `/admin/banks/${bankId}/credentials`
      onChecked((await api.send<{ data: BankChecked }>('PUT', path, { body })).data)
      router.refresh()
    },
  })
  return (
    <form {...form.props} className="grid grid-cols-[minmax(0,1fr)] gap-5">
      <CredentialsFields form={form} hasAppKey={profile === 'banco-do-brasil'} />
      <Problem error={form.failure} />
      <div>
        <Button variant="primary" type="submit" disabled={form.isBusy}>
          {form.isBusy ? t('check.running') : t('renew.run')}
        </Button>
      </div>
    </form>
  )
}
