'use client'

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { TrialSteps } from '#app/admin/banks/[id]/trial-steps.tsx'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.tsx'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { Section } from '#components/ui/sheet.tsx'
import { BeginTrial, type TrialState } from '#lib/trials/schema.ts'

/** While a trial is under way, each step is shown within this time. */
const REFRESH_MS = 2_000

interface TrialSectionProps {
  bankId: string
  initial: TrialState
  /** False for a closed connection, which still ends the trial that it has. */
  canBegin: boolean
}

/** Has a few cents paid, refunded and withdrawn. Leaving the page ends nothing: the worker goes on. */
export function TrialSection({ bankId, initial, canBegin }: TrialSectionProps) {
  const t = useTranslations('banks')
  const api = useApi()
  const { data } = useQuery({
    queryKey: ['bank-trial', bankId],
    queryFn: async ({ signal }) =>
      (await api.get<{ data: TrialState }>(`/admin/banks/${bankId}/trial`, signal)).data,
    initialData: initial,
    refetchInterval: ({ state }) => (isUnderWay(state.data) ? REFRESH_MS : false),
  })
  const { latest, needs_key: needsKey } = data
  return (
    <Section
      title={t('trial.title')}
      text={canBegin ? t(needsKey ? 'trial.textPaying' : 'trial.text') : undefined}
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
        {latest ? <TrialSteps latest={latest} /> : null}
        {canBegin && !isUnderWay(data) ? (
          <BeginForm bankId={bankId} needsKey={needsKey} isAgain={latest !== null} />
        ) : null}
      </div>
    </Section>
  )
}

function isUnderWay(data: TrialState | undefined): boolean {
  return data?.latest?.status === 'running'
}

interface BeginFormProps {
  bankId: string
  needsKey: boolean
  isAgain: boolean
}

function BeginForm({ bankId, needsKey, isAgain }: BeginFormProps) {
  const t = useTranslations('banks')
  const api = useApi()
  const queryClient = useQueryClient()
  const form = useForm({
    schema: BeginTrial,
    read: data => ({ pix_key: data.get('pix_key')?.toString().trim() || undefined }),
    async send(body) {
      const path = `/admin/banks/${bankId}/trial`
      const { data } = await api.send<{ data: TrialState }>('POST', path, { body })
      queryClient.setQueryData(['bank-trial', bankId], data)
    },
  })
  return (
    <form {...form.props} className="grid grid-cols-[minmax(0,1fr)] gap-5">
      {needsKey ? (
        <Field
          name="pix_key"
          label={t('trial.key')}
          hint={t('trial.keyHint')}
          autoComplete="off"
          required
          problem={form.problems.pix_key ? t('trial.keyInvalid') : null}
        />
      ) : null}
      <Problem error={form.failure} />
      <div>
        <Button type="submit" variant="quiet" disabled={form.isBusy}>
          {form.isBusy ? t('busy') : t(isAgain ? 'trial.again' : 'trial.begin')}
        </Button>
      </div>
    </form>
  )
}
