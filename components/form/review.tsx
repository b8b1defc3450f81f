'use client'

import type { LucideIcon } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { type MouseEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { ApiError } from '#components/api/client.ts'
import { FIELD_CODES } from '#components/form/form.tsx'
import { HeroMoney } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Notice } from '#components/ui/sheet.tsx'

/**
 * Holds the body of a form while it is reviewed before it is sent. Its fields stay mounted while they
 * are hidden, so that their values are not lost.
 */
export function useReview<Body>() {
  const formElement = useRef<HTMLFormElement>(null)
  const [reviewed, setReviewed] = useState<Body | null>(null)
  function focusField(name: string) {
    const field = formElement.current?.elements.namedItem(name)
    if (field instanceof HTMLElement) field.focus()
  }
  function returnToField(name: string) {
    flushSync(() => setReviewed(null))
    focusField(name)
  }
  return { formElement, reviewed, review: setReviewed, returnToField, focusField }
}

/** Returns the name of the field to correct; null if the refusal concerns none. */
export function refusedFieldOf(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null
  if (error.code === 'insufficient_balance') return 'amount'
  if (error.code === 'external_id_used') return 'external_id'
  return FIELD_CODES.includes(error.code) ? (Object.keys(error.fields)[0] ?? null) : null
}

interface ReviewProps {
  amountLabel: string
  /** Cents. */
  amount: number
  /** Rows below the amount. */
  children: ReactNode
  warning: string
  icon: LucideIcon
  /** Why the server refused, above the buttons, where a phone shows it. */
  problem: ReactNode
  /** Text of the button that sends the form. */
  confirm: string
  isBusy: boolean
  onBack: () => void
}

/** Shows what a form is about to send, with the buttons to correct or confirm it. */
export function Review({ amountLabel, amount, children, ...rest }: ReviewProps) {
  const { warning, icon, problem, confirm, isBusy, onBack } = rest
  const t = useTranslations('ui')
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => title.current?.focus(), [])
  return (
    <section aria-labelledby="review" className="grid grid-cols-[minmax(0,1fr)] gap-5">
      <h2 id="review" ref={title} tabIndex={-1} className="text-title outline-none">
        {t('review')}
      </h2>
      <dl className="grid gap-4">
        <ReviewRow name={amountLabel}>
          <span className="text-[34px] leading-tight">
            <HeroMoney cents={amount} testId="amount" />
          </span>
        </ReviewRow>
        {children}
      </dl>
      <Notice tone="wait" icon={icon}>
        {warning}
      </Notice>
      {problem}
      <div className="flex flex-wrap gap-3 max-md:flex-col">
        <Button
          variant="primary"
          type="submit"
          disabled={isBusy}
          onClick={event => isSecondClick(event) && event.preventDefault()}
        >
          {confirm}
        </Button>
        <Button
          variant="quiet"
          disabled={isBusy}
          onClick={event => isSecondClick(event) || onBack()}
        >
          {t('reviewBack')}
        </Button>
      </div>
    </section>
  )
}

/** A double click on the form's button must not press the button of the review that appears there. */
function isSecondClick({ detail }: MouseEvent): boolean {
  return detail > 1
}

export function ReviewRow({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-muted text-small">{name}</dt>
      <dd className="mt-0.5 min-w-0">{children}</dd>
    </div>
  )
}
