'use client'

import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { Check, Inbox, type LucideIcon, TimerOff, X } from 'lucide-react'
import Link from 'next/link'
import { useRouter } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { type ReactNode, type SubmitEvent, useEffect, useRef, useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { HeroMoney, Money, moneyText } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { chargeQueries } from '#components/queries/charges.ts'
import { ChargeStateChip } from '#components/status/state-chips.tsx'
import { Button } from '#components/ui/button.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { TextArea } from '#components/ui/field.tsx'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'
import { ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import type { ListedCharge } from '#lib/charges/schema.ts'
import { ownReference } from '#lib/charges/states.ts'
import type { BankProblem, BankReading } from '#lib/dashboard/schema.ts'

interface BankProps {
  reading: BankReading | null
  code: string
}

export function Bank({ reading: initialReading, code }: BankProps) {
  const api = useApi()
  const router = useRouter()
  const t = useTranslations('bank')
  const [reading, setReading] = useState(initialReading)
  const [outcome, setOutcome] = useState<Outcome | null>(null)

  async function readCode(pasted: string) {
    const { data } = await api.get('/dashboard/bank/read', { query: { code: pasted } })
    setReading(data)
    return data.problem
  }

  function restart() {
    // Clears the query of the URL. With it, a link to the same charge would not navigate.
    if (location.search) return router.push('/test/bank', { scroll: false })
    setReading(null)
    setOutcome(null)
  }

  return (
    <section aria-label={t('screen')}>
      <Sheet className="px-4 py-6 md:px-7 md:py-7">
        {!reading?.charge ? (
          <CodeForm code={code} problem={reading?.problem ?? null} readCode={readCode} />
        ) : outcome ? (
          <PaymentOutcome charge={reading.charge} outcome={outcome} restart={restart} />
        ) : (
          <ConfirmPayment {...reading} onDecided={setOutcome} restart={restart} />
        )}
      </Sheet>
    </section>
  )
}

/** Maximum input, as in the API: a PIX code has at most 512 characters. */
const CODE_MAX = 600

interface CodeFormProps {
  code: string
  problem: BankProblem | null
  /** Returns the reason why the code cannot be paid; null if it can be paid. */
  readCode: (code: string) => Promise<BankProblem | null>
}

function CodeForm({ code, problem: initialProblem, readCode }: CodeFormProps) {
  const t = useTranslations('bank')
  const ui = useTranslations('ui')
  const form = useRef<HTMLFormElement>(null)
  const [problem, setProblem] = useState<BankProblem | 'empty' | null>(initialProblem)
  const reading = useMutation({
    mutationFn: async (text: string) => {
      if (text === '') return 'empty'
      return text.length > CODE_MAX ? 'no_code' : readCode(text)
    },
    onSuccess: newProblem => {
      setProblem(newProblem)
      if (newProblem) form.current?.querySelector('textarea')?.focus()
    },
    onError: () => setProblem(null),
  })
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('code')).trim()
    if (!reading.isPending) reading.mutate(text)
  }

  const message = problem === 'empty' ? ui('required') : problem && t(`problem.${problem}`)
  return (
    <form ref={form} method="post" onSubmit={submit} noValidate>
      <TextArea
        label={t('code')}
        name="code"
        defaultValue={code}
        hint={t('codeHint')}
        problem={message}
        rows={5}
        autoComplete="off"
        spellCheck={false}
        className="break-all font-mono text-[13px]"
      />
      <p role="status" className="sr-only">
        {message ?? ''}
      </p>
      <div className="mt-4 grid gap-4">
        <Problem error={reading.error} />
        <Button
          type="submit"
          variant="primary"
          className="w-full"
          aria-disabled={reading.isPending}
        >
          {reading.isPending ? t('reading') : t('read')}
        </Button>
      </div>
    </form>
  )
}

type Outcome = 'paid' | 'failed' | 'expired'
type PayableReading = Extract<BankReading, { problem: null }>

interface ConfirmPaymentProps extends PayableReading {
  onDecided: (outcome: Outcome) => void
  restart: () => void
}

function ConfirmPayment({ receiver, city, charge, onDecided, restart }: ConfirmPaymentProps) {
  const t = useTranslations('bank')
  const idempotencyKeys = useRef<Partial<Record<Outcome, string>>>({})
  const api = useApi()
  const queryClient = useQueryClient()
  const { id, amount, status, external_id, expires_at } = charge
  const reference = ownReference(id, external_id)

  const decision = useMutation({
    mutationFn: (outcome: Outcome) => {
      idempotencyKeys.current[outcome] ??= crypto.randomUUID()
      const idempotencyKey = idempotencyKeys.current[outcome]
      const request = { params: { id }, body: { outcome }, idempotencyKey }
      return api.post('/sandbox/transactions/[id]', request)
    },
    onSuccess: async (_, outcome) => {
      onDecided(outcome)
      await queryClient.invalidateQueries({ queryKey: chargeQueries.all(api) })
    },
  })
  const choose = (outcome: Outcome) => decision.isPending || decision.mutate(outcome)
  const isPaying = decision.isPending && decision.variables === 'paid'

  return (
    <>
      <h2 className="text-center text-muted text-small">{t('youPay')}</h2>
      <p className="my-2 text-center text-[42px] md:text-[50px]">
        <HeroMoney cents={amount} testId="bank-amount" />
      </p>
      <p className="break-words text-center">
        {t('to')} <strong className="font-semibold">{receiver}</strong>
      </p>
      <dl className="my-6 grid gap-3 border-line border-y py-5">
        <DetailRow name={t('city')}>{city}</DetailRow>
        {reference ? (
          <DetailRow name={t('reference')}>
            <span className="break-all font-mono text-[13px]">{reference}</span>
          </DetailRow>
        ) : null}
        {status === 'pending' ? (
          <DetailRow name={t('expires')}>
            <RelativeTime at={expires_at} side="end" />
          </DetailRow>
        ) : null}
        <DetailRow name={t('status')}>
          <ChargeStateChip status={status} />
        </DetailRow>
      </dl>
      <IfAllowed permission="transactions:write">
        <div className="grid gap-3">
          <Problem error={decision.error} />
          {status === 'paid' ? (
            <p className="text-center text-muted text-small">{t('alreadyPaid')}</p>
          ) : (
            <Button variant="primary" className="min-h-12" onClick={() => choose('paid')}>
              {isPaying ? t('paying') : status === 'pending' ? t('pay') : t('payLate')}
            </Button>
          )}
          {status === 'pending' ? (
            <div className="grid gap-3 sm:grid-cols-2">
              <Button variant="quiet" onClick={() => choose('failed')}>
                {t('fail')}
              </Button>
              <Button variant="quiet" onClick={() => choose('expired')}>
                {t('expire')}
              </Button>
            </div>
          ) : null}
          {status === 'expired' || status === 'failed' ? (
            <p className="text-muted text-small">{t('lateHint')}</p>
          ) : null}
          <Button variant="plain" className="justify-center" onClick={restart}>
            {t('another')}
          </Button>
        </div>
      </IfAllowed>
    </>
  )
}

function DetailRow({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex justify-between gap-6">
      <dt className="shrink-0 text-muted">{name}</dt>
      <dd className="min-w-0 text-right">{children}</dd>
    </div>
  )
}

const OUTCOME_STYLES: Record<Outcome, { tone: string; icon: LucideIcon }> = {
  paid: { tone: 'bg-ok-soft text-ok', icon: Check },
  failed: { tone: 'bg-bad-soft text-bad', icon: X },
  expired: { tone: 'bg-off-soft text-off', icon: TimerOff },
}

interface PaymentOutcomeProps {
  charge: PayableReading['charge']
  outcome: Outcome
  restart: () => void
}

function PaymentOutcome({ charge, outcome, restart }: PaymentOutcomeProps) {
  const t = useTranslations('bank')
  const locale = useLocale()
  const title = useRef<HTMLHeadingElement>(null)
  // The pressed button is gone: focusing the title makes screen readers announce the outcome.
  useEffect(() => title.current?.focus(), [])
  const { tone, icon: Icon } = OUTCOME_STYLES[outcome]
  const values = { amount: moneyText(charge.amount, locale) }
  return (
    <div className="text-center">
      <span className={`inline-flex size-14 items-center justify-center rounded-full ${tone}`}>
        <Icon size={28} aria-hidden />
      </span>
      <h2 ref={title} tabIndex={-1} className="mt-4 text-[22px] leading-tight outline-none">
        {t(`done.${outcome}`)}
      </h2>
      <p className="mx-auto mt-2 mb-6 max-w-[40ch] text-muted">{t(`after.${outcome}`, values)}</p>
      <div className="grid gap-3">
        <Link
          href={`/test/charges/${charge.id}`}
          prefetch={false}
          className={buttonClass('primary')}
        >
          {t('seeCharge')}
        </Link>
        <Link
          href={`/test/webhooks?reference=${encodeURIComponent(charge.external_id)}`}
          prefetch={false}
          className={buttonClass('quiet')}
        >
          {t('seeEvents')}
        </Link>
        <Button variant="plain" className="justify-center" onClick={restart}>
          {t('another')}
        </Button>
      </div>
    </div>
  )
}

/** Refresh interval: the merchant's programs create charges while the page is open. */
const _REFRESH_MS = 5_000

interface OpenChargesProps {
  limit: number
  chosenId: string | undefined
}

export function OpenCharges({ limit, chosenId }: OpenChargesProps) {
  const t = useTranslations('bank')
  const api = useApi()
  const { data } = useSuspenseQuery(chargeQueries.pending(api, limit))
  return (
    <section>
      <h2 className="mb-2.5 text-title">{t('open')}</h2>
      <Sheet>
        {data.data.length === 0 ? (
          <EmptyState icon={Inbox} title={t('none')} text={t('noneHow')}>
            <IfAllowed permission="transactions:write">
              <Link href="/test/charges/new" prefetch={false} className={buttonClass('quiet')}>
                {t('create')}
              </Link>
            </IfAllowed>
          </EmptyState>
        ) : (
          <ul>
            {data.data.map(charge => (
              <OpenCharge key={charge.id} charge={charge} isChosen={charge.id === chosenId} />
            ))}
          </ul>
        )}
      </Sheet>
    </section>
  )
}

function OpenCharge({ charge, isChosen }: { charge: ListedCharge; isChosen: boolean }) {
  return (
    <li
      className={`relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-0.5 border-line px-4 py-3 not-first:border-t first:rounded-t-sheet last:rounded-b-sheet has-[a:hover]:bg-paper md:px-[18px] ${isChosen ? 'bg-accent-soft' : ''}`}
    >
      <Link
        href={`/test/bank?charge=${charge.id}`}
        prefetch={false}
        aria-current={isChosen ? 'true' : undefined}
        className={`rounded-[4px] font-medium ${ROW_LINK}`}
      >
        <span className={TWO_LINES}>{charge.client_name || charge.external_id}</span>
      </Link>
      <span className="text-right font-semibold">
        <Money cents={charge.amount} />
      </span>
      <span className={`font-mono text-[12.5px] text-muted ${TWO_LINES}`}>
        {ownReference(charge.id, charge.external_id)}
      </span>
      <span className="relative text-right text-muted text-small">
        <RelativeTime at={charge.created_at} side="end" />
      </span>
    </li>
  )
}
