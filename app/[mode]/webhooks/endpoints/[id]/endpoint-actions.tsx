'use client'

import { useMutation } from '@tanstack/react-query'
import { Pause, Play, Trash2 } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Refusal } from '#app/[mode]/webhooks/refusal.tsx'
import { useApi } from '#components/nav/world.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import type { Endpoint } from '#lib/services/webhooks/schema.ts'

interface EndpointActionsProps {
  endpoint: Endpoint
  /** Deliveries waiting while the endpoint is disabled. */
  missed: number
}

type Deed = 'enable' | 'enableWithout' | 'disable' | 'delete'

export function EndpointActions({ endpoint, missed }: EndpointActionsProps) {
  const t = useTranslations('endpoints')
  const api = useApi()
  const router = useRouter()
  const [asking, setAsking] = useState<'enable' | 'disable' | 'delete' | null>(null)
  const path = `/dashboard/webhooks/endpoints/${endpoint.id}`
  const change = useMutation({
    mutationFn: async (deed: Deed) => {
      if (deed === 'delete') return api.send<{ missed?: number }>('DELETE', path)
      const body = deed === 'disable' ? {} : { send_missed: deed === 'enable' }
      const order = { body, idempotencyKey: crypto.randomUUID() }
      const route = deed === 'disable' ? 'disable' : 'enable'
      return api.send<{ missed?: number }>('POST', `${path}/${route}`, order)
    },
    onSuccess: (_, deed) => {
      setAsking(null)
      if (deed === 'delete') router.push(`/${api.scope.mode}/webhooks/endpoints`)
      router.refresh()
    },
  })
  const { variables: deed, data } = change
  const isDisabled = endpoint.status === 'disabled'
  const ask = (what: typeof asking) => {
    change.reset()
    setAsking(what)
  }
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button look="quiet" onClick={() => ask(isDisabled ? 'enable' : 'disable')}>
        {isDisabled ? <Play size={16} aria-hidden /> : <Pause size={16} aria-hidden />}
        {isDisabled ? t('enable') : t('disable')}
      </Button>
      <Button look="plain" onClick={() => ask('delete')}>
        <Trash2 size={16} aria-hidden />
        {t('delete')}
      </Button>
      <span role="status" className="text-muted text-small">
        {deed === 'enable' && data?.missed ? t('missedSent', { count: data.missed }) : ''}
      </span>
      <Dialog
        isOpen={asking !== null}
        onClose={() => setAsking(null)}
        title={asking ? t(`${asking}Title`) : ''}
        description={asking ? t(`${asking}Text`, { count: missed }) : ''}
      >
        <div className="grid gap-4">
          <Refusal error={change.error} />
          <div className="flex flex-wrap justify-end gap-2">
            {asking === 'enable' && missed > 0 ? (
              <Button
                look="quiet"
                disabled={change.isPending}
                onClick={() => change.mutate('enableWithout')}
              >
                {t('enableWithout')}
              </Button>
            ) : (
              <Button look="quiet" onClick={() => setAsking(null)}>
                {t('cancel')}
              </Button>
            )}
            {asking ? (
              <Button
                look="primary"
                disabled={change.isPending}
                onClick={() => change.mutate(asking)}
              >
                {asking === 'enable' && missed > 0
                  ? t('enableSending', { count: missed })
                  : t(asking)}
              </Button>
            ) : null}
          </div>
        </div>
      </Dialog>
    </div>
  )
}
