'use client'

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Monitor, Smartphone } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useAction, useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Button } from '#components/ui/button.tsx'
import type { Device } from '#lib/people/schema.ts'

const SESSIONS_PATH = '/person/sessions'

export function Devices({ devices: initialData }: { devices: Device[] }) {
  const t = useTranslations('devices')
  const api = useApi()
  const queryClient = useQueryClient()
  const [endedCount, setEndedCount] = useState(0)
  const queryKey = ['devices']
  const { data } = useQuery({
    queryKey,
    initialData,
    queryFn: async ({ signal }) => (await api.get<{ data: Device[] }>(SESSIONS_PATH, signal)).data,
  })
  const ending = useAction(async (path: string) => {
    try {
      const { data: result } = await api.send<{ data: { ended?: number } }>('DELETE', path)
      setEndedCount(result.ended ?? 1)
    } finally {
      void queryClient.invalidateQueries({ queryKey })
    }
  })
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <Problem error={ending.failure} />
      <ul aria-label={t('title')} className="-mt-4 -mb-1">
        {data.map(device => (
          <DeviceRow
            key={device.id}
            device={device}
            isBusy={ending.isBusy}
            onEnd={() => ending.run(`${SESSIONS_PATH}/${device.id}`)}
          />
        ))}
      </ul>
      <div className="flex flex-wrap items-center gap-x-3.5 gap-y-2">
        {data.length > 1 ? (
          <Button
            variant="quiet"
            disabled={ending.isBusy}
            onClick={() => ending.run(SESSIONS_PATH)}
          >
            {t('endOthers')}
          </Button>
        ) : null}
        <p role="status" className="font-medium text-muted text-small">
          {endedCount > 0
            ? t('ended', { count: endedCount })
            : data.length > 1
              ? ''
              : t('onlyHere')}
        </p>
      </div>
    </div>
  )
}

const HANDHELD_SYSTEMS = ['iPhone', 'iPad', 'Android']

interface DeviceRowProps {
  device: Device
  isBusy: boolean
  onEnd: () => void
}

function DeviceRow({ device, isBusy, onEnd }: DeviceRowProps) {
  const t = useTranslations('devices')
  const { id, browser, system, ip, is_this } = device
  const Icon = HANDHELD_SYSTEMS.includes(system ?? '') ? Smartphone : Monitor
  const name = [browser, system].filter(part => part !== null).join(' · ')
  return (
    <li
      data-testid="device-row"
      className="flex flex-wrap items-center gap-x-4 gap-y-1 border-line py-4 not-first:border-t"
    >
      <Icon size={20} strokeWidth={1.7} aria-hidden className="shrink-0 self-start text-muted" />
      <div className="min-w-0 flex-1 basis-56">
        <p id={`device-${id}`} className="font-semibold leading-5">
          {name || t('unknown')}
          {is_this ? (
            <span className="ml-2 font-medium text-accent text-small">{t('this')}</span>
          ) : null}
        </p>
        <p className="mt-1 break-words text-muted text-small">
          {t.rich('where', {
            ip: ip ?? t('noAddress'),
            since: () => <RelativeTime at={device.created_at} />,
          })}
        </p>
        {is_this ? null : (
          <p className="text-muted text-small">
            {t.rich('used', { last: () => <RelativeTime at={device.last_used_at} /> })}
          </p>
        )}
      </div>
      {is_this ? null : (
        <Button
          variant="plain"
          disabled={isBusy}
          onClick={onEnd}
          aria-describedby={`device-${id}`}
          className="max-md:-ml-2.5 max-md:ml-6.5 md:-mr-2.5"
        >
          {t('end')}
        </Button>
      )}
    </li>
  )
}
