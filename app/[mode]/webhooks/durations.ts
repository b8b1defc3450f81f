import { useLocale } from 'next-intl'

const UNITS = [
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

export interface Durations {
  /** How long a call took: 212 ms, 1,2 s. */
  took: (ms: number) => string
  /** A pause in its largest unit, rounded up: 3 min. */
  pause: (seconds: number) => string
  /** What is left, to the second: 3 min 12 s. */
  left: (seconds: number) => string
}

/** Durations in the reader's language. */
export function useDurations(): Durations {
  const locale = useLocale()
  const say = (value: number, unit: string) =>
    new Intl.NumberFormat(locale, {
      style: 'unit',
      unit,
      unitDisplay: unit === 'second' || unit === 'hour' ? 'narrow' : 'short',
      maximumFractionDigits: 1,
    })
      .format(value)
      .replace(/(\d)(?=[a-z])/, '$1 ')
  return {
    took: ms => (ms < 1_000 ? say(ms, 'millisecond') : say(ms / 1_000, 'second')),
    pause: seconds => {
      const [unit, length] = UNITS.find(([, least]) => seconds >= least) ?? UNITS[2]
      return say(Math.ceil(seconds / length), unit)
    },
    left: seconds => {
      const whole = Math.max(0, Math.ceil(seconds))
      const parts = UNITS.map(([unit, length], at) => {
        const above = UNITS[at - 1]?.[1] ?? Number.POSITIVE_INFINITY
        return [Math.floor((whole % above) / length), unit] as const
      })
      const shown = parts.filter(([value]) => value > 0).slice(0, 2)
      return shown.map(([value, unit]) => say(value, unit)).join(' ') || say(0, 'second')
    },
  }
}
