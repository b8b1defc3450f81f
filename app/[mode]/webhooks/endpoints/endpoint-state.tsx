import { Check, CircleAlert, Pause } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { useDurations } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { numberFormat } from '#lib/core/locale.ts'
import type { Endpoint } from '#lib/webhooks/schema.ts'

type EndpointProgress = Pick<Endpoint, 'status' | 'failing_since'>

export function EndpointState({ endpoint }: { endpoint: EndpointProgress }) {
  const t = useTranslations('endpoints')
  if (endpoint.status === 'disabled') {
    return (
      <Chip tone="off" icon={Pause}>
        {t('state.disabled')}
      </Chip>
    )
  }
  return endpoint.failing_since ? (
    <Chip tone="bad" icon={CircleAlert}>
      {t('state.failing')}
    </Chip>
  ) : (
    <Chip tone="ok" icon={Check}>
      {t('state.enabled')}
    </Chip>
  )
}

export function EndpointTrouble({ endpoint }: { endpoint: Endpoint }) {
  const t = useTranslations('endpoints')
  const { disabled_at, disabled_code: code, failing_since } = endpoint
  if (disabled_at && code) {
    return (
      <>
        {t(`reason.${code}`)} (<RelativeTime at={disabled_at} />)
      </>
    )
  }
  return failing_since
    ? t.rich('failingSince', { when: () => <RelativeTime at={failing_since} /> })
    : null
}

export function EndpointHealth({ health }: { health: Endpoint['health'] }) {
  const t = useTranslations('endpoints')
  const locale = useLocale()
  const { callDuration } = useDurations()
  const { delivered, failed, p95_ms } = health
  const attempts = delivered + failed
  if (attempts === 0) return t('quiet')
  const percent = numberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })
  // Rounding must not show 100 % after a failure.
  const share = failed > 0 ? Math.min(delivered / attempts, 0.999) : 1
  const time = p95_ms === null ? '' : callDuration(p95_ms)
  return t('health', { share: percent.format(share), tries: attempts, time })
}
