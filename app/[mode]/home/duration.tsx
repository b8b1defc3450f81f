import { useTranslations } from 'next-intl'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A time span in the two largest units that it has. */
export function Duration({ seconds }: { seconds: number }) {
  const t = useTranslations('duration')
  const whole = Math.round(seconds)
  const inUnits = (large: number, small: number) => ({
    a: Math.floor(whole / large),
    b: Math.floor((whole % large) / small),
  })
  if (seconds < 1) return t('instant')
  if (whole < MINUTE) return t('seconds', { a: whole })
  if (whole < HOUR) return t('minutes', inUnits(MINUTE, 1))
  if (whole < DAY) return t('hours', inUnits(HOUR, MINUTE))
  return t('days', inUnits(DAY, HOUR))
}
