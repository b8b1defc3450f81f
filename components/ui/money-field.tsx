'use client'

import { useLocale, useTranslations } from 'next-intl'
import { type ComponentProps, type ReactNode, useEffect, useRef, useState } from 'react'
import { setValue } from '#components/form/control.ts'
import { moneyText } from '#components/format/format.tsx'
import { Field } from '#components/ui/field.tsx'
import { AMOUNT_MAX, formatReais, readReais, type TypedAmount } from '#lib/core/money.ts'

type InputProps = Pick<ComponentProps<'input'>, 'onInput' | 'onBlur'>

/** Pause in typing after which screen readers hear what was understood. */
const PAUSE_MS = 800
const NOTHING: TypedAmount = { amount: null, readings: [] }

interface Limits {
  /** In cents: amounts beyond them are not offered as readings. */
  min?: number
  max?: number
}

type MoneyFieldProps = Omit<ComponentProps<typeof Field>, 'type' | 'inputMode' | 'min' | 'max'> &
  Limits

/** Input of an amount in reais, in the reader's notation. Normalizes the text on blur. */
export function MoneyField(props: MoneyFieldProps) {
  const { onInput, onBlur, problem, note, min, max, ...rest } = props
  const locale = useLocale()
  const { control, understood, question } = useMoneyInput(
    { onInput, onBlur, min, max },
    Boolean(problem),
  )
  return (
    <div className="relative">
      <Field
        placeholder={formatReais(0, locale)}
        {...rest}
        {...control}
        note={note}
        beside={understood}
        problem={problem}
        question={question}
        type="text"
        className={`pl-10 font-semibold ${rest.className ?? ''}`}
      />
      <span aria-hidden className="absolute top-[38px] left-3 text-muted">
        R$
      </span>
    </div>
  )
}

/**
 * Reads an amount while it is typed. `understood` shows what was read. `question` asks which amount
 * is meant, after the input was left or found invalid.
 */
export function useMoneyInput(
  { onInput, onBlur, min = 0, max = AMOUNT_MAX }: InputProps & Limits,
  isInvalid: boolean,
) {
  const locale = useLocale()
  const input = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState(NOTHING)
  const [isLeft, setLeft] = useState(false)
  const { amount } = typed
  const readings = typed.readings.filter(reading => reading >= min && reading <= max)
  const isAsked = readings.length > 0 && (isLeft || isInvalid)
  const control = {
    ref: input,
    inputMode: 'decimal',
    autoComplete: 'off',
    onInput(event) {
      setTyped(readReais(event.currentTarget.value, locale))
      setLeft(false)
      onInput?.(event)
    },
    onBlur(event) {
      const left = readReais(event.currentTarget.value, locale)
      if (left.amount !== null) event.currentTarget.value = formatReais(left.amount, locale)
      // A question would move the button before the click ends; submitting asks it.
      setLeft(!event.relatedTarget?.matches('[type=submit]'))
      onBlur?.(event)
    },
  } satisfies ComponentProps<'input'>
  function fill(reading: number) {
    if (!input.current) return
    setValue(input.current, formatReais(reading, locale))
    input.current.focus()
  }
  const amountText = amount === null ? null : moneyText(amount, locale)
  return {
    control,
    understood: <Understood text={amountText} isAsked={isAsked} readings={readings} />,
    question: isAsked ? <Question readings={readings} onChoose={fill} /> : null,
  }
}

interface UnderstoodProps {
  /** Null if there is no single meaning. */
  text: string | null
  isAsked: boolean
  readings: number[]
}

/** Shows the amount at once, and announces it, or the question, when typing pauses. */
function Understood({ text, isAsked, readings }: UnderstoodProps): ReactNode {
  const t = useTranslations('ui')
  const locale = useLocale()
  const [announced, setAnnounced] = useState('')
  const choices = readings.map(reading => moneyText(reading, locale)).join(', ')
  const question = isAsked ? `${t('whichAmount', { count: readings.length })} ${choices}` : ''
  const news = text ?? question
  useEffect(() => {
    const timer = setTimeout(() => setAnnounced(news), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [news])
  return (
    <>
      <span aria-hidden data-understood>
        {text}
      </span>
      <span aria-live="polite" className="sr-only">
        {announced}
      </span>
    </>
  )
}

interface QuestionProps {
  readings: number[]
  onChoose: (reading: number) => void
}

function Question({ readings, onChoose }: QuestionProps) {
  const t = useTranslations('ui')
  const locale = useLocale()
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-2">
      {t('whichAmount', { count: readings.length })}
      <span className="flex flex-wrap gap-2">
        {readings.map(reading => (
          <button
            key={reading}
            type="button"
            onClick={() => onChoose(reading)}
            className="h-9 whitespace-nowrap rounded-control border border-line2 bg-surface px-3 font-semibold text-ink transition-colors duration-150 hover:border-faint hover:bg-paper"
          >
            {moneyText(reading, locale)}
          </button>
        ))}
      </span>
    </span>
  )
}
