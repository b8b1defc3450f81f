'use client'

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { DELIVERIES_PATH, deliveriesKey } from '#app/[mode]/webhooks/delivery-data.ts'
import type { ResendFilter } from '#app/[mode]/webhooks/resend-filter.ts'
import { WebhookProblem } from '#app/[mode]/webhooks/webhook-problem.tsx'
import { useApi } from '#components/form/api.ts'
import { ExactTime } from '#components/format/exact-time.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import type { DeliveriesFailed, DeliveriesResent } from '#lib/webhooks/schema.ts'

const RECOUNT_MS = 15_000

interface ResendFailedProps {
  filter: ResendFilter
  initialCount: number
}

export function ResendFailed({ filter, initialCount }: ResendFailedProps) {
  const t = useTranslations('deliveries')
  const api = useApi()
  const queryClient = useQueryClient()
  const [isConfirming, setConfirming] = useState(false)
  const query = new URLSearchParams(Object.entries(filter))
  const { data } = useQuery({
    queryKey: [...deliveriesKey(api.scope), 'failed', `${query}`],
    queryFn: ({ signal }) =>
      api.get<DeliveriesFailed>(`/dashboard${DELIVERIES_PATH}/resend?${query}`, signal),
    initialData: { failed: initialCount },
    refetchInterval: RECOUNT_MS,
  })
  const resend = useMutation({
    mutationFn: (idempotencyKey: string) =>
      api.send<DeliveriesResent>('POST', `${DELIVERIES_PATH}/resend`, {
        body: filter,
        idempotencyKey,
      }),
    onSuccess: async () => {
      setConfirming(false)
      await queryClient.invalidateQueries({ queryKey: deliveriesKey(api.scope) })
    },
  })
  const { failed } = data
  return (
    <div
      className={failed > 0 || resend.data ? 'ml-auto flex min-h-9 items-center gap-3' : 'sr-only'}
    >
      <span role="status" className="text-muted text-small">
        {resend.data ? <ResentCount {...resend.data} /> : null}
      </span>
      {failed > 0 ? (
        <button
          type="button"
          onClick={() => {
            resend.reset()
            setConfirming(true)
          }}
          className="min-h-9 font-semibold text-accent text-small hover:underline"
        >
          {t('resendFailed', { count: failed })}
        </button>
      ) : null}
      <Dialog
        isOpen={isConfirming}
        onClose={() => setConfirming(false)}
        title={t('resendFailedTitle', { count: failed })}
        description={t.rich('resendFailedText', {
          from: () => <ExactTime at={filter.from} format="second" />,
          to: () => (filter.to ? <ExactTime at={filter.to} format="second" /> : t('now')),
        })}
      >
        <div className="grid gap-4">
          <WebhookProblem error={resend.error} />
          <div className="flex justify-end gap-2">
            <Button variant="quiet" onClick={() => setConfirming(false)}>
              {t('cancel')}
            </Button>
            <Button
              variant="primary"
              disabled={resend.isPending}
              onClick={() => resend.mutate(crypto.randomUUID())}
            >
              <RefreshCw size={16} aria-hidden />
              {t('resend')}
            </Button>
          </div>
        </div>
      </Dialog>
    </div>
  )
}

function ResentCount({ resent: count, more: hasMore }: DeliveriesResent) {
  const t = useTranslations('deliveries')
  return hasMore ? t('resentMore', { count }) : t('resentAll', { count })
}
