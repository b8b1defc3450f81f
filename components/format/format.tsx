import { useLocale } from 'next-intl'
import { numberFormat } from '#lib/core/locale.ts'

/** Formats cents: R$ 1.234,56, or R$ 1,234.56 in English. */
export function moneyText(cents: number, locale: string): string {
  const { sign, integer, decimal, fraction } = moneyParts(cents, locale)
  return `${sign}R$ ${integer}${decimal}${fraction}`
}

function moneyParts(cents: number, locale: string) {
  const format = numberFormat(locale, { style: 'currency', currency: 'BRL' })
  const parts = format.formatToParts(Math.abs(cents) / 100)
  const join = (...types: string[]) =>
    parts
      .filter(part => types.includes(part.type))
      .map(part => part.value)
      .join('')
  return {
    sign: cents < 0 ? '-' : '',
    integer: join('integer', 'group'),
    decimal: join('decimal'),
    fraction: join('fraction'),
  }
}

interface MoneyProps {
  cents: number
}

export function Money({ cents }: MoneyProps) {
  return <span className="whitespace-nowrap">{moneyText(cents, useLocale())}</span>
}

/** Longest integer parts at full size: `10.000.000` (10) is wider than a small phone or column. */
const FULL_SIZE_LENGTH_MAX = 9
const FULL_SIZE_WIDE_LENGTH_MAX = 11

/** The main amount of a page, in large type; screen readers get it as plain text. */
export function HeroMoney({ cents, testId }: MoneyProps & { testId: string }) {
  const locale = useLocale()
  const { sign, integer, decimal, fraction } = moneyParts(cents, locale)
  return (
    <>
      <span aria-hidden className={`hero-amount ${heroSizeClass(integer.length)}`}>
        <span className="mr-[0.26em] font-[450] font-sans text-[0.5em] text-muted tracking-normal">
          R$
        </span>
        {sign}
        {integer}
        <span className="relative -top-[0.5em] ml-[0.02em] text-[0.46em] tracking-normal">
          {decimal}
          {fraction}
        </span>
      </span>
      <span className="sr-only" data-testid={testId}>
        {moneyText(cents, locale)}
      </span>
    </>
  )
}

function heroSizeClass(length: number): string {
  if (length > FULL_SIZE_WIDE_LENGTH_MAX) return 'text-[0.7em]'
  return length > FULL_SIZE_LENGTH_MAX ? 'max-xl:text-[0.7em]' : ''
}
