import { useLocale, useNow, useTranslations } from 'next-intl'
import { numberFormat } from '#lib/core/locale.ts'

const MINUTE_S = 60
const HOUR_S = 60 * MINUTE_S
const DAY_S = 24 * HOUR_S

/** Symbols of the units, equal in every language of the interface. */
const UNITS = [
  ['d', DAY_S],
  ['h', HOUR_S],
  ['min', MINUTE_S],
  ['s', 1],
] as const
const NAMES = { d: 'day', h: 'hour', min: 'minute', s: 'second' } as const

interface Durations {
  /** The duration of a call: 212 ms, 1,2 s. */
  callDuration: (ms: number) => string
  /** A pause in its largest unit, rounded up: 3 min. */
  delay: (seconds: number) => string
  /** The remaining time in its two largest units: 3 min 12 s. */
  remaining: (seconds: number) => string
  /** A duration in its largest unit and the next smaller unit, which may be zero: 3 min 0 s. */
  duration: (seconds: number) => string
  /** A duration in words, in the largest unit that it contains at least twice: 90 minutes. */
  inWords: (seconds: number) => string
}

export function useDurations(): Durations {
  const locale = useLocale()
  const t = useTranslations('when')
  return {
    callDuration: ms => callDurationText(ms, locale),
    delay: delayText,
    remaining: remainingText,
    duration: seconds => (seconds < 1 ? t('instant') : durationText(seconds)),
    inWords: seconds => durationWords(seconds, locale),
  }
}

export function callDurationText(ms: number, locale: string): string {
  const format = numberFormat(locale, { maximumFractionDigits: 1 })
  return ms < 1_000 ? `${format.format(ms)} ms` : `${format.format(ms / 1_000)} s`
}

export function delayText(seconds: number): string {
  const [symbol, length] = UNITS.find(([, unitS]) => seconds >= unitS) ?? UNITS[3]
  return `${Math.ceil(seconds / length)} ${symbol}`
}

export function remainingText(seconds: number): string {
  const shown = partsOf(Math.max(0, Math.ceil(seconds))).filter(([value]) => value > 0)
  return textOf(shown.slice(0, 2)) || '0 s'
}

export function durationText(seconds: number): string {
  const parts = partsOf(Math.round(seconds))
  const first = parts.findIndex(([value]) => value > 0)
  return textOf(parts.slice(first, first + 2))
}

export function durationWords(seconds: number, locale: string): string {
  const [symbol, length] = UNITS.find(([, unitS]) => seconds >= 2 * unitS) ?? UNITS[3]
  const options = { style: 'unit', unit: NAMES[symbol], unitDisplay: 'long' } as const
  return numberFormat(locale, options).format(Math.floor(seconds / length))
}

/** Formats a countdown as a clock: 23:41:08, and from one day on 29 d 23:41:08. */
export function clockText(seconds: number): string {
  const [days = 0, ...clock] = partsOf(seconds).map(([value]) => value)
  const text = clock.map(value => String(value).padStart(2, '0')).join(':')
  return days > 0 ? `${days} d ${text}` : text
}

const TICK_MS = 1_000

export function useSecondsTo(at: string): number {
  const now = useNow({ updateInterval: TICK_MS })
  return (Date.parse(at) - now.getTime()) / 1_000
}

type Part = readonly [value: number, symbol: string]

function partsOf(seconds: number): Part[] {
  return UNITS.map(([symbol, length], index) => {
    const nextLargerS = UNITS[index - 1]?.[1] ?? Number.POSITIVE_INFINITY
    return [Math.floor((seconds % nextLargerS) / length), symbol]
  })
}

function textOf(parts: Part[]): string {
  return parts.map(([value, symbol]) => `${value} ${symbol}`).join(' ')
}
