import { useLocale } from 'next-intl'

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const
const SIZES = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** Figures as people read them: what a name ends in says what it is. */
export function useFigures() {
  const locale = useLocale()
  const unit = (value: number, name: string, unitDisplay: 'long' | 'short' = 'long') =>
    new Intl.NumberFormat(locale, {
      ...{ style: 'unit', unit: name, unitDisplay },
      maximumFractionDigits: 1,
    }).format(value)
  /** A span in the largest unit that it fills twice. */
  const span = (seconds: number) => {
    const [name, length] = UNITS.find(([, long]) => seconds >= 2 * long) ?? ['second', 1]
    return unit(Math.floor(seconds / length), name)
  }
  const size = (bytes: number) => {
    const step = Math.max(
      0,
      Math.min(SIZES.length - 1, Math.floor(Math.log(bytes) / Math.log(1_000))),
    )
    return unit(bytes / 1_000 ** step, SIZES[step] ?? 'byte', 'short')
  }
  const write = (figures: Record<string, number | string>) =>
    Object.fromEntries(
      Object.entries(figures).map(([name, value]) => {
        if (typeof value === 'string') return [name, value]
        if (name.endsWith('_s')) return [name, span(value)]
        if (name.endsWith('_ms')) return [name, unit(value, 'millisecond', 'short')]
        return [name, name.endsWith('_bytes') ? size(value) : value]
      }),
    )
  return { span, write }
}
