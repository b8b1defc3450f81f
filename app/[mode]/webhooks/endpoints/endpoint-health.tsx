import { useLocale, useTranslations } from 'next-intl'
import { useDurations } from '#app/[mode]/webhooks/durations.ts'
import type { Endpoint } from '#lib/services/webhooks/schema.ts'

/** How many tries of the last day succeeded, and how fast its answers are. */
export function EndpointHealth({ health }: { health: Endpoint['health'] }) {
  const t = useTranslations('endpoints')
  const locale = useLocale()
  const { took } = useDurations()
  const { delivered, failed, p95_ms } = health
  const tries = delivered + failed
  if (tries === 0) return t('quiet')
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })
  // Rounding must not call it perfect.
  const share = failed > 0 ? Math.min(delivered / tries, 0.999) : 1
  const time = p95_ms === null ? '' : took(p95_ms)
  return t('health', { share: percent.format(share), tries, time })
}
