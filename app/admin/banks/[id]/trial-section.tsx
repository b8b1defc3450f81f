'use client'

import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { Check, Circle, Hourglass, type LucideIcon, Minus, X } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { QRCodeSVG } from 'qrcode.react'
import { ApiError } from '#components/api/client.ts'
import { Problem, useProblemText } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { ExactTime, moneyText } from '#components/format/format.tsx'
import { operatorQueries } from '#components/queries/operator.ts'
import { Button } from '#components/ui/button.tsx'
import { CopyButton } from '#components/ui/copy.tsx'
import { Field } from '#components/ui/field.tsx'
import { Section } from '#components/ui/sheet.tsx'
import {
  BeginTrial,
  type StepState,
  type StepView,
  type Trial,
  type TrialState,
} from '#lib/trials/schema.ts'

/** While a trial is under way, each step is shown within this time. */

interface TrialSectionProps {
  bankId: string
  /** False for a closed connection, which still ends the trial that it has. */
  canBegin: boolean
}

/** Has a few cents paid, refunded and withdrawn. Leaving the page ends nothing: the worker goes on. */
export function TrialSection({ bankId, canBegin }: TrialSectionProps) {
  const t = useTranslations('banks')
  const api = useApi()
  const { data } = useSuspenseQuery(operatorQueries.bankTrial(api, bankId))
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
      const request = { params: { id: bankId }, body }
      const { data } = await api.post('/admin/banks/[id]/trial', request)
      queryClient.setQueryData(operatorQueries.bankTrial(api, bankId).queryKey, data)
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

const STYLES: Record<StepState, { icon: LucideIcon; tone: string }> = {
  upcoming: { icon: Circle, tone: 'bg-off-soft text-off' },
  waiting: { icon: Hourglass, tone: 'bg-wait-soft text-wait' },
  done: { icon: Check, tone: 'bg-ok-soft text-ok' },
  failed: { icon: X, tone: 'bg-bad-soft text-bad' },
  skipped: { icon: Minus, tone: 'bg-off-soft text-off' },
}
const CONCLUSION_TONES = { passed: 'text-ok', failed: 'text-bad', running: '' }

/** Shows the unpaid code, the steps and the result of a trial. */
function TrialSteps({ latest }: { latest: Trial }) {
  const t = useTranslations('banks')
  const { status, br_code: code } = latest
  return (
    <>
      {code ? <CodeToPay code={code} amount={latest.amount} /> : null}
      <ol className="grid grid-cols-[minmax(0,1fr)] gap-3">
        {latest.steps.map(view => (
          <Step key={view.step} view={view} latest={latest} />
        ))}
      </ol>
      <p role="status" className={`font-semibold ${CONCLUSION_TONES[status]}`}>
        {t(`trial.${status}`)}
      </p>
    </>
  )
}

function CodeToPay({ code, amount }: { code: string; amount: number }) {
  const t = useTranslations('banks')
  const money = moneyText(amount, useLocale())
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3.5">
      <p className="font-semibold">{t('trial.pay', { amount: money })}</p>
      <div className="w-fit max-w-full rounded-control border border-line bg-[#ffffff] p-1">
        <QRCodeSVG
          role="img"
          aria-label={t('trial.qr', { amount: money })}
          value={code}
          level="M"
          size={220}
          marginSize={4}
          fgColor="#17211D"
          bgColor="#FFFFFF"
          className="h-auto max-w-full"
        />
      </div>
      <div className="flex items-center gap-2 rounded-control bg-sunk p-2.5 pl-3">
        <code data-testid="trial-code" className="min-w-0 flex-1 truncate font-mono text-[12.5px]">
          {code}
        </code>
        <CopyButton text={code} variant="primary" className="min-w-[118px] shrink-0" />
      </div>
    </div>
  )
}

interface StepProps {
  view: StepView
  latest: Trial
}

function Step({ view, latest }: StepProps) {
  const { step, state, at, bank_id: bankId, code, text, refusal } = view
  const t = useTranslations('banks')
  const problemText = useProblemText()
  const locale = useLocale()
  const { icon: Icon, tone } = STYLES[state]
  const amounts = {
    amount: moneyText(latest.amount, locale),
    refund: moneyText(latest.refund_amount, locale),
    withdrawal: moneyText(latest.withdrawal_amount, locale),
  }
  const name =
    step === 'withdrawal' && latest.key
      ? t('trial.step.withdrawalTo', { ...amounts, key: latest.key })
      : t(`trial.step.${step}`, amounts)
  return (
    <li data-testid={`step-${step}`} className="flex items-start gap-3">
      <span className={`mt-0.5 grid size-6 shrink-0 place-items-center rounded-chip ${tone}`}>
        <Icon size={14} strokeWidth={2.2} aria-hidden />
      </span>
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-baseline justify-between gap-x-3">
          <span className={`break-words ${state === 'upcoming' ? 'text-muted' : 'font-medium'}`}>
            {name}
          </span>
          <span className="text-muted text-small">
            {t(`trial.state.${state}`)} {at ? <ExactTime at={at} format="second" /> : null}
          </span>
        </p>
        {bankId ? (
          <p className="break-all text-muted text-small">
            {t(step === 'charge' ? 'trial.txid' : 'trial.bankId', { id: bankId })}
          </p>
        ) : null}
        {code ? <p className="text-muted text-small">{t(`trial.reason.${code}`)}</p> : null}
        {text ? (
          <p className="break-words text-muted text-small">{t('trial.answer', { text })}</p>
        ) : null}
        {refusal ? (
          <p className="break-words text-muted text-small">
            {t('trial.refusal', { text: problemText(new ApiError(0, refusal)) })}
          </p>
        ) : null}
      </div>
    </li>
  )
}
