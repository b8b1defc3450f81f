import { Check, CircleAlert, Pause } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { useDurations } from '#components/format/duration.ts'
import { When } from '#components/format/format.tsx'
import { Chip } from '#components/ui/chip.tsx'
import type { Endpoint } from '#lib/services/webhooks/schema.ts'

type Standing = Pick<Endpoint, 'status' | 'failing_since'>

export function EndpointState({ endpoint }: { endpoint: Standing }) {
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
  const { disabled_at, disabled_code: code, disabled_reason, failing_since } = endpoint
  if (disabled_at) {
    const reason = code && code !== 'other' ? t(`reason.${code}`) : disabled_reason
    return (
      <>
        {reason} (<When at={disabled_at} />)
      </>
    )
  }
  return failing_since ? t.rich('failingSince', { when: () => <When at={failing_since} /> }) : null
}

export function EndpointHealth({ health }: { health: Endpoint['health'] }) {
  const t = useTranslations('endpoints')
  const locale = useLocale()
  const { took } = useDurations()
  const { delivered, failed, p95_ms } = health
  const tries = delivered + failed
  if (tries === 0) return t('quiet')
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })
  // Rounding must not show 100 % after a failure.
  const share = failed > 0 ? Math.min(delivered / tries, 0.999) : 1
  const time = p95_ms === null ? '' : took(p95_ms)
  return t('health', { share: percent.format(share), tries, time })
}
