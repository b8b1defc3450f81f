'use client'

import { useMutation } from '@tanstack/react-query'
import { RotateCw } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { WebhookProblem } from '#app/[mode]/webhooks/webhook-problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { ExactTime } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { CopyButton } from '#components/ui/copy.tsx'
import { LazyDialog, LazyDialogActions } from '#components/ui/lazy-dialog.ts'
import type { ShownSecret } from '#lib/webhooks/schema.ts'

interface RotateSecretProps {
  /** Absent: the secret of the account, which can also be revealed. */
  endpointId?: string
}

export function RotateSecret({ endpointId }: RotateSecretProps) {
  const t = useTranslations('endpoints')
  const api = useApi()
  const [isConfirming, setConfirming] = useState(false)
  const [shownSecret, setShownSecret] = useState<ShownSecret | null>(null)
  const reveal = useMutation({
    mutationFn: () => api.get('/dashboard/webhooks/secret'),
    onSuccess: ({ data }) => setShownSecret(data),
  })
  const rotate = useMutation({
    mutationFn: (idempotencyKey: string) =>
      endpointId === undefined
        ? api.post('/dashboard/webhooks/secret/rotate', { idempotencyKey })
        : api.post('/webhooks/endpoints/[id]/rotate', {
            params: { id: endpointId },
            idempotencyKey,
          }),
    onSuccess: ({ data }) => {
      setShownSecret(data)
      setConfirming(false)
    },
  })
  return (
    <div className="grid gap-3">
      {shownSecret ? <SecretValue secret={shownSecret.secret} /> : null}
      {shownSecret?.previous_retires_at ? (
        <p role="status" className="font-medium text-small text-wait">
          {t.rich('bothSign', {
            until: () => <ExactTime at={shownSecret.previous_retires_at ?? ''} format="second" />,
          })}
        </p>
      ) : null}
      <WebhookProblem error={reveal.error} />
      <div className="flex flex-wrap gap-2">
        {endpointId === undefined && !shownSecret ? (
          <Button variant="quiet" disabled={reveal.isPending} onClick={() => reveal.mutate()}>
            {t('reveal')}
          </Button>
        ) : null}
        <Button variant="quiet" onClick={() => setConfirming(true)}>
          <RotateCw size={16} aria-hidden />
          {t('rotate')}
        </Button>
      </div>
      {isConfirming ? (
        <LazyDialog
          onClose={() => setConfirming(false)}
          title={t('rotateTitle')}
          description={t('rotateText')}
        >
          <div className="grid gap-4">
            <WebhookProblem error={rotate.error} />
            <LazyDialogActions
              action={t('rotateNow')}
              isBusy={rotate.isPending}
              onCancel={() => setConfirming(false)}
              onConfirm={() => rotate.mutate(crypto.randomUUID())}
            />
          </div>
        </LazyDialog>
      ) : null}
    </div>
  )
}

export function SecretValue({ secret }: { secret: string }) {
  const t = useTranslations('endpoints')
  return (
    <div>
      <div className="flex flex-wrap items-center gap-2 rounded-control bg-sunk p-2 pl-4">
        <code
          data-testid="secret-value"
          className="min-w-0 flex-1 basis-52 break-all font-mono text-[13px]"
        >
          {secret}
        </code>
        <CopyButton text={secret} />
      </div>
      <p className="mt-2 text-muted text-small">
        {t.rich('verify', {
          docs: words => (
            <a href="/docs/webhooks" className="font-semibold text-accent underline">
              {words}
            </a>
          ),
        })}
      </p>
    </div>
  )
}
