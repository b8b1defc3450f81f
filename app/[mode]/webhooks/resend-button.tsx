'use client'

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { DELIVERIES_PATH, deliveriesKey } from '#app/[mode]/webhooks/delivery-data.ts'
import { WebhookProblem } from '#app/[mode]/webhooks/webhook-problem.tsx'
import { useApi } from '#components/form/api.ts'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import type { Delivery, DeliveryDetail } from '#lib/webhooks/schema.ts'

interface ResendButtonProps {
  delivery: DeliveryDetail
  onSent: () => void
}

/** Resends a delivery, with the same bytes. Asks for confirmation if it was already delivered. */
export function ResendButton({ delivery, onSent }: ResendButtonProps) {
  const t = useTranslations('deliveries')
  const api = useApi()
  const queryClient = useQueryClient()
  const [isConfirming, setConfirming] = useState(false)
  const resend = useMutation({
    mutationFn: (idempotencyKey: string) =>
      api.send<{ data: Delivery }>('POST', `${DELIVERIES_PATH}/${delivery.id}/resend`, {
        idempotencyKey,
      }),
    onSuccess: async () => {
      onSent()
      await queryClient.invalidateQueries({ queryKey: deliveriesKey(api.scope) })
    },
    onSettled: () => setConfirming(false),
  })
  const send = () => resend.mutate(crypto.randomUUID())
  const isDelivered = delivery.status === 'delivered'
  return (
    <>
      <Button
        variant="primary"
        disabled={resend.isPending || delivery.is_under_way}
        onClick={isDelivered ? () => setConfirming(true) : send}
        className="disabled:opacity-60"
      >
        <RefreshCw size={16} aria-hidden />
        {t('resend')}
      </Button>
      {resend.error ? (
        <div className="w-full">
          <WebhookProblem error={resend.error} />
        </div>
      ) : null}
      <Dialog
        isOpen={isConfirming}
        onClose={() => setConfirming(false)}
        title={t('resendTitle')}
        description={t('resendText')}
      >
        <div className="flex justify-end gap-2">
          <Button variant="quiet" onClick={() => setConfirming(false)}>
            {t('cancel')}
          </Button>
          <Button variant="primary" disabled={resend.isPending} onClick={send}>
            {t('resendAnyway')}
          </Button>
        </div>
      </Dialog>
    </>
  )
}
