'use client'

import { useMutation } from '@tanstack/react-query'
import { Check, CircleAlert, CircleDashed, CircleSlash, TriangleAlert } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { CredentialsFields, readCredentials } from '#app/admin/banks/credentials-fields.tsx'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { moneyText, useTimeText } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { Section } from '#components/ui/sheet.tsx'
import { CredentialsRequest } from '#lib/banks/schema.ts'
import type { BankChecked, BankDetail } from '#lib/operator/banks/schema.ts'

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
            bankId={bankId}
            profile={profile}
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
      const request = { params: { id: bankId }, body }
      onChecked((await api.put('/admin/banks/[id]/credentials', request)).data)
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

/** Asks the bank, and shows what was found until the page is left. */
export function CheckSection({ bank }: { bank: BankDetail }) {
  const t = useTranslations('banks')
  const api = useApi()
  const router = useRouter()
  const [checked, setChecked] = useState<BankChecked | null>(null)
  const check = useMutation({
    mutationFn: () => api.post('/admin/banks/[id]/check', { params: { id: bank.id } }),
    onSuccess: ({ data }) => {
      setChecked(data)
      router.refresh()
    },
  })
  return (
    <Section title={t('check.title')} text={t('check.text')}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        {checked ? (
          <>
            <p role="status" className="font-semibold">
              {t(`check.${outcomeOf(checked, bank)}`)}
            </p>
            <Findings findings={checked.findings} />
          </>
        ) : null}
        <Problem error={check.error} />
        <div>
          <Button
            variant={bank.state === 'unchecked' ? 'primary' : 'quiet'}
            onClick={() => check.mutate()}
            disabled={check.isPending}
          >
            {check.isPending ? t('check.running') : checked ? t('check.again') : t('check.run')}
          </Button>
        </div>
      </div>
    </Section>
  )
}

function outcomeOf({ code }: BankChecked, { checked_at: checkedAt }: BankDetail) {
  if (code === null) return checkedAt === null ? 'silentFirst' : 'silent'
  return code === 'ok' ? 'passed' : 'failed'
}

type Finding = BankChecked['findings'][number]

const LEVELS = {
  ok: { tone: 'ok', icon: Check },
  warning: { tone: 'wait', icon: TriangleAlert },
  problem: { tone: 'bad', icon: CircleAlert },
  unanswered: { tone: 'off', icon: CircleDashed },
  untried: { tone: 'off', icon: CircleSlash },
} as const
/** Worst first: what must be done is read before what works. */
const ORDER = ['problem', 'unanswered', 'untried', 'warning', 'ok'] as const

/** Findings of a check, each with the action that solves it. */
function Findings({ findings }: { findings: Finding[] }) {
  const t = useTranslations()
  const textOf = useFindingTexts()
  const sorted = ORDER.flatMap(level => findings.filter(finding => finding.level === level))
  return (
    <ul aria-label={t('banks.check.title')} className="border-line border-t">
      {sorted.map(finding => {
        const { found, advice } = textOf(finding)
        return (
          <li
            key={`${finding.code} ${JSON.stringify(finding.params)}`}
            data-testid={`finding-${finding.code}`}
            className="flex items-start gap-x-4 border-line py-2.5 not-first:border-t"
          >
            <div className="min-w-0 flex-1">
              <p className="break-words">{found}</p>
              {advice ? <p className="mt-0.5 break-words text-muted text-small">{advice}</p> : null}
            </div>
            <div className="shrink-0">
              <Chip {...LEVELS[finding.level]}>{t(`banks.level.${finding.level}`)}</Chip>
            </div>
          </li>
        )
      })}
    </ul>
  )
}

const TIMES = ['from', 'until']

/** A finding of a later version is shown by its code. */
function useFindingTexts() {
  const [found, advice] = [useTranslations('bankFinding'), useTranslations('bankAdvice')]
  const locale = useLocale()
  const text = useTimeText()
  return ({ code, params }: Finding) => {
    const values = Object.fromEntries(
      Object.entries(params).map(([name, value]) => [
        name,
        TIMES.includes(name)
          ? text(String(value), { dateStyle: 'medium' })
          : name === 'amount'
            ? moneyText(Math.round(Number(value) * 100), locale)
            : value,
      ]),
    )
    return {
      found: found.has(code as never) ? found(code as 'bank_answers', values) : code,
      advice: advice.has(code as never) ? advice(code as 'bank_silent') : null,
    }
  }
}
