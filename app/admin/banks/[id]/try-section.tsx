'use client'

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { TrySteps } from '#app/admin/banks/[id]/try-steps.tsx'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { Section } from '#components/ui/sheet.tsx'
import { BeginTry, type TryState } from '#lib/services/tries/schema.ts'

/** While a try is under way, each step is shown within this time. */
const REFRESH_MS = 2_000

interface TrySectionProps {
  bankId: string
  initial: TryState
  /** False for a closed connection, which still ends the try that it has. */
  canBegin: boolean
}

/** Has a few cents paid, given back and paid out. Leaving the page ends nothing: the worker goes on. */
export function TrySection({ bankId, initial, canBegin }: TrySectionProps) {
  const t = useTranslations('banks')
  const api = useApi()
  const { data } = useQuery({
    queryKey: ['bank-try', bankId],
    queryFn: async ({ signal }) =>
      (await api.get<{ data: TryState }>(`/admin/banks/${bankId}/try`, signal)).data,
    initialData: initial,
    refetchInterval: ({ state }) => (isUnderWay(state.data) ? REFRESH_MS : false),
  })
  const { latest, needs_key: needsKey } = data
  return (
    <Section
      title={t('try.title')}
      text={canBegin ? t(needsKey ? 'try.textPaying' : 'try.text') : undefined}
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
        {latest ? <TrySteps latest={latest} /> : null}
        {canBegin && !isUnderWay(data) ? (
          <BeginForm bankId={bankId} needsKey={needsKey} isAgain={latest !== null} />
        ) : null}
      </div>
    </Section>
  )
}

function isUnderWay(data: TryState | undefined): boolean {
  return data?.latest?.ended_at === null
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
    schema: BeginTry,
    read: data => ({ pix_key: data.get('pix_key')?.toString().trim() || undefined }),
    async send(body) {
      const path = `/admin/banks/${bankId}/try`
      const { data } = await api.send<{ data: TryState }>('POST', path, { body })
      queryClient.setQueryData(['bank-try', bankId], data)
    },
  })
  return (
    <form {...form.props} className="grid grid-cols-[minmax(0,1fr)] gap-5">
      {needsKey ? (
        <Field
          name="pix_key"
          label={t('try.key')}
          hint={t('try.keyHint')}
          autoComplete="off"
          required
          problem={form.problems.pix_key ? t('try.keyInvalid') : null}
        />
      ) : null}
      <Problem error={form.failure} />
      <div>
        <Button type="submit" variant="quiet" disabled={form.isBusy}>
          {form.isBusy ? t('busy') : t(isAgain ? 'try.again' : 'try.begin')}
        </Button>
      </div>
    </form>
  )
}
