'use client'

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { DeviceRow } from '#app/[mode]/settings/security/device-row.tsx'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import type { Device } from '#lib/services/people/schema.ts'

const PATH = '/person/sessions'

/** Where one is signed in, and the way out of there. */
export function Devices({ devices: initialData }: { devices: Device[] }) {
  const t = useTranslations('devices')
  const api = useApi()
  const client = useQueryClient()
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  const [ended, setEnded] = useState(0)
  const queryKey = ['devices']
  const { data } = useQuery({
    queryKey,
    initialData,
    queryFn: async ({ signal }) => (await api.get<{ data: Device[] }>(PATH, signal)).data,
  })
  async function end(path: string) {
    setBusy(true)
    setFailure(null)
    try {
      const { data: said } = await api.send<{ data: { ended?: number } }>('DELETE', path)
      setEnded(said.ended ?? 1)
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(false)
      await client.invalidateQueries({ queryKey })
    }
  }
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <Problem error={failure} />
      <ul aria-label={t('title')} className="-mt-4 -mb-1">
        {data.map(device => (
          <DeviceRow
            key={device.id}
            device={device}
            isBusy={isBusy}
            onEnd={() => end(`${PATH}/${device.id}`)}
          />
        ))}
      </ul>
      <div className="flex flex-wrap items-center gap-x-3.5 gap-y-2">
        {data.length > 1 ? (
          <Button look="quiet" disabled={isBusy} onClick={() => end(PATH)}>
            {t('endOthers')}
          </Button>
        ) : null}
        <p role="status" className="font-medium text-muted text-small">
          {ended > 0 ? t('ended', { count: ended }) : data.length > 1 ? '' : t('onlyHere')}
        </p>
      </div>
    </div>
  )
}
