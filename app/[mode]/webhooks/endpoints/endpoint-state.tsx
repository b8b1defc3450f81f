import { Check, CircleAlert, Pause } from 'lucide-react'
import { useTranslations } from 'next-intl'
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

/** The server's own words for why an endpoint is disabled, by what they mean. */
const REASONS = [
  ['byMember', /^Disabled in the dashboard/],
  ['gone', /410 Gone/],
  ['givenUp', /^No success for 5 days/],
] as const

/** Since when it fails, or why it is not called; nothing while all is well. */
export function EndpointTrouble({ endpoint }: { endpoint: Endpoint }) {
  const t = useTranslations('endpoints')
  const { disabled_at, disabled_reason, failing_since } = endpoint
  if (disabled_at) {
    const reason = REASONS.find(([, pattern]) => pattern.test(disabled_reason ?? ''))?.[0]
    return (
      <>
        {reason ? t(`reason.${reason}`) : disabled_reason} (<When at={disabled_at} />)
      </>
    )
  }
  return failing_since ? t.rich('failingSince', { when: () => <When at={failing_since} /> }) : null
}
