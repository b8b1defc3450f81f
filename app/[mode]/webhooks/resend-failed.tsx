'use client'

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { keyOf, ROOT } from '#app/[mode]/webhooks/delivery-data.ts'
import type { Failed } from '#app/[mode]/webhooks/failed.ts'
import { Refusal } from '#app/[mode]/webhooks/refusal.tsx'
import { ExactTime } from '#components/format/exact-time.tsx'
import { useApi } from '#components/nav/world.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import type { DeliveriesFailed, DeliveriesResent } from '#lib/services/webhooks/schema.ts'

const RECOUNT_MS = 15_000

interface ResendFailedProps {
  wanted: Failed
  /** Number of them when the page was rendered. */
  first: number
}

/** Resends every failed delivery of the list, after showing how many and from when. */
export function ResendFailed({ wanted, first }: ResendFailedProps) {
  const t = useTranslations('deliveries')
  const api = useApi()
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const asked = new URLSearchParams(Object.entries(wanted))
  const { data } = useQuery({
    queryKey: [...keyOf(api.scope), 'failed', `${asked}`],
    queryFn: ({ signal }) => api.get<DeliveriesFailed>(`${ROOT}/resend?${asked}`, signal),
    initialData: { failed: first },
    refetchInterval: RECOUNT_MS,
  })
  const resend = useMutation({
    mutationFn: (idempotencyKey: string) =>
      api.send<DeliveriesResent>('POST', `${ROOT}/resend`, { body: wanted, idempotencyKey }),
    onSuccess: async () => {
      setAsking(false)
      await queries.invalidateQueries({ queryKey: keyOf(api.scope) })
    },
  })
  const { failed } = data
  return (
    <div
      className={failed > 0 || resend.data ? 'ml-auto flex min-h-9 items-center gap-3' : 'sr-only'}
    >
      <span role="status" className="text-muted text-small">
        {resend.data ? <Sent {...resend.data} /> : null}
      </span>
      {failed > 0 ? (
        <button
          type="button"
          onClick={() => {
            resend.reset()
            setAsking(true)
          }}
          className="min-h-9 font-semibold text-accent text-small hover:underline"
        >
          {t('resendFailed', { count: failed })}
        </button>
      ) : null}
      <Dialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={t('resendFailedTitle', { count: failed })}
        description={t.rich('resendFailedText', {
          from: () => <ExactTime at={wanted.from} look="second" />,
          to: () => (wanted.to ? <ExactTime at={wanted.to} look="second" /> : t('now')),
        })}
      >
        <div className="grid gap-4">
          <Refusal error={resend.error} />
          <div className="flex justify-end gap-2">
            <Button look="quiet" onClick={() => setAsking(false)}>
              {t('cancel')}
            </Button>
            <Button
              look="primary"
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

function Sent({ resent: count, more }: DeliveriesResent) {
  const t = useTranslations('deliveries')
  return more ? t('resentMore', { count }) : t('resentAll', { count })
}
