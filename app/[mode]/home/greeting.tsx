import { useNow, useTimeZone, useTranslations } from 'next-intl'

/** By the clock of the merchant. */
export function Greeting({ name }: { name: string }) {
  const t = useTranslations('greeting')
  const format = new Intl.DateTimeFormat('en', {
    hour: 'numeric',
    hourCycle: 'h23',
    timeZone: useTimeZone(),
  })
  const hour = Number(format.format(useNow()))
  const time = hour < 5 || hour >= 18 ? 'evening' : hour < 12 ? 'morning' : 'afternoon'
  // Someone who was invited by e-mail only has no name yet.
  const first = name.includes('@') ? '' : (name.split(/\s+/)[0] ?? '')
  return first ? t('named', { greeting: t(time), name: first }) : t(time)
}
