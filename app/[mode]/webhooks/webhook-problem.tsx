import { CircleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { ApiError } from '#components/api/client.ts'
import { Problem } from '#components/api/problem.tsx'
import { Notice } from '#components/ui/sheet.tsx'

const WEBHOOK_CODES = ['endpoint_disabled', 'under_way', 'limit_reached'] as const

export function WebhookProblem({ error }: { error: unknown }) {
  const t = useTranslations('webhooks')
  const code =
    error instanceof ApiError ? WEBHOOK_CODES.find(known => known === error.code) : undefined
  if (!code) return <Problem error={error} />
  return (
    <Notice tone="bad" icon={CircleAlert} role="alert">
      {t(`refused.${code}`)}
    </Notice>
  )
}
