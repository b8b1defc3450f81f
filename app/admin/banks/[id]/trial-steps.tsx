'use client'

import { Check, Circle, Hourglass, type LucideIcon, Minus, X } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { QRCodeSVG } from 'qrcode.react'
import { moneyText } from '#components/format/format.tsx'
import { CopyButton } from '#components/ui/copy.tsx'
import type { Trial } from '#lib/trials/schema.ts'
import type { StepState, StepView } from '#lib/trials/states.ts'

const STYLES: Record<StepState, { icon: LucideIcon; tone: string }> = {
  upcoming: { icon: Circle, tone: 'bg-off-soft text-off' },
  waiting: { icon: Hourglass, tone: 'bg-wait-soft text-wait' },
  done: { icon: Check, tone: 'bg-ok-soft text-ok' },
  failed: { icon: X, tone: 'bg-bad-soft text-bad' },
  skipped: { icon: Minus, tone: 'bg-off-soft text-off' },
}
const CONCLUSION_TONES = { passed: 'text-ok', failed: 'text-bad', running: '' }

/** Shows the unpaid code, the steps and the result of a trial. */
export function TrialSteps({ latest }: { latest: Trial }) {
  const t = useTranslations('banks')
  const { status, problems, br_code: code } = latest
  const conclusion = status === 'passed' || status === 'failed' ? status : 'running'
  return (
    <>
      {status === 'open' && code ? <CodeToPay code={code} amount={latest.amount} /> : null}
      <ol className="grid grid-cols-[minmax(0,1fr)] gap-3">
        {latest.steps.map(view => (
          <Step key={view.step} view={view} latest={latest} />
        ))}
      </ol>
      <div className="grid gap-1">
        <p role="status" className={`font-semibold ${CONCLUSION_TONES[conclusion]}`}>
          {t(`trial.${conclusion}`)}
        </p>
        {problems.map(({ code, params }) => (
          <p key={`${code} ${params.text}`} className="break-words text-muted text-small">
            {t(`trial.problem.${code}`, params)}
          </p>
        ))}
      </div>
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
        <code data-testid="try-code" className="min-w-0 flex-1 truncate font-mono text-[12.5px]">
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

function Step({ view: { step, state, code, text }, latest: { id, key: payee } }: StepProps) {
  const t = useTranslations('banks')
  const { icon: Icon, tone } = STYLES[state]
  const name =
    step === 'payout' && payee ? t('trial.step.payoutTo', { key: payee }) : t(`trial.step.${step}`)
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
          <span className="text-muted text-small">{t(`trial.state.${state}`)}</span>
        </p>
        {step === 'code' && state === 'done' ? (
          <p className="break-all text-muted text-small">
            {t('trial.txid', { txid: id.replaceAll('-', '') })}
          </p>
        ) : null}
        {code ? <p className="text-muted text-small">{t(`trial.reason.${code}`)}</p> : null}
        {text ? (
          <p className="break-words text-muted text-small">
            {t('trial.problem.bank_says', { text })}
          </p>
        ) : null}
      </div>
    </li>
  )
}
