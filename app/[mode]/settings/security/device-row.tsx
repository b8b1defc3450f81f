import { Monitor, Smartphone } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { When } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import type { Device } from '#lib/services/people/schema.ts'

const HANDHELD = ['iPhone', 'iPad', 'Android']

interface DeviceRowProps {
  device: Device
  isBusy: boolean
  onEnd: () => void
}

export function DeviceRow({ device, isBusy, onEnd }: DeviceRowProps) {
  const t = useTranslations('devices')
  const { id, browser, system, ip, is_this } = device
  const Icon = HANDHELD.includes(system ?? '') ? Smartphone : Monitor
  const name = [browser, system].filter(known => known !== null).join(' · ')
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
            since: () => <When at={device.created_at} />,
          })}
        </p>
        {is_this ? null : (
          <p className="text-muted text-small">
            {t.rich('used', { last: () => <When at={device.last_used_at} /> })}
          </p>
        )}
      </div>
      {is_this ? null : (
        <Button
          look="plain"
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
