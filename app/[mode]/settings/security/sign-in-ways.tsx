'use client'

import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { Check, CircleAlert, Monitor, Smartphone } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Fragment, useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { fetchProviderUrl } from '#components/api/sign-in.ts'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { NewPasswordField } from '#components/proof/new-password-field.tsx'
import { personQueries } from '#components/queries/people.ts'
import { Button } from '#components/ui/button.tsx'
import { PasswordField } from '#components/ui/field.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { type Device, passwordChange } from '#lib/people/schema.ts'

interface PasswordFormProps {
  email: string
  /** False for users who sign in through OpenID and never set a password. */
  hasPassword: boolean
}

export function PasswordForm({ email, hasPassword: hadPassword }: PasswordFormProps) {
  const t = useTranslations('password')
  const ui = useTranslations('ui')
  const api = useApi()
  const queryClient = useQueryClient()
  const [hasPassword, setHasPassword] = useState(hadPassword)
  const [changeCount, setChangeCount] = useState(0)
  const { problems, failure, isBusy, props } = useForm({
    schema: hasPassword ? passwordChange.required({ current: true }) : passwordChange,
    read: data => ({
      current: data.get('current') || undefined,
      password: data.get('password') || undefined,
    }),
    send: async body => {
      await api.post('/person/password', { body })
      setHasPassword(true)
      setChangeCount(changeCount + 1)
      await queryClient.invalidateQueries({ queryKey: personQueries.devices(api).queryKey })
    },
  })
  return (
    <form {...props} className="grid gap-5">
      <Problem error={failure} />
      {/* A new key after each change empties the fields. */}
      <Fragment key={changeCount}>
        <input type="email" autoComplete="username" value={email} readOnly hidden />
        {hasPassword ? (
          <PasswordField
            label={t('current')}
            name="current"
            showLabel={ui('show')}
            autoComplete="current-password"
            problem={problems.current ? t(`problem.${problems.current}`) : null}
          />
        ) : null}
        <NewPasswordField label={t('new')} problem={problems.password} />
      </Fragment>
      <div className="flex flex-wrap items-center gap-x-3.5 gap-y-2">
        <Button variant="primary" type="submit" disabled={isBusy}>
          {isBusy ? t('busy') : hasPassword ? t('change') : t('set')}
        </Button>
        <p role="status" className="flex items-center gap-1.5 font-medium text-ok text-small">
          {changeCount > 0 ? (
            <>
              <Check size={16} aria-hidden className="shrink-0" />
              {t('changed')}
            </>
          ) : null}
        </p>
      </div>
    </form>
  )
}

interface LinkProviderProps {
  provider: string
  name: string
  path: string
  isRefused: boolean
}

/** Asks for a proof of identity, then lets the provider confirm the e-mail of this user. */
export function LinkProvider({ provider, name, path, isRefused }: LinkProviderProps) {
  const t = useTranslations('openid')
  const api = useApi()
  const connection = useMutation({
    mutationFn: async () => {
      await api.post('/person/openid')
      return fetchProviderUrl(provider, path)
    },
    onSuccess: address => address && location.assign(address),
  })
  const isUnreachable = connection.isSuccess && !connection.data
  const isBusy = connection.isPending || (connection.isSuccess && !isUnreachable)
  return (
    <div className="grid gap-5">
      <Problem error={connection.error} />
      {isUnreachable || isRefused ? (
        <Notice tone="bad" icon={CircleAlert} role="alert">
          {isUnreachable ? t('failed') : t('refused', { name })}
        </Notice>
      ) : null}
      <div>
        <Button variant="quiet" onClick={() => connection.mutate()} disabled={isBusy}>
          {t('connect', { name })}
        </Button>
      </div>
    </div>
  )
}

export function Devices() {
  const t = useTranslations('devices')
  const api = useApi()
  const queryClient = useQueryClient()
  const query = personQueries.devices(api)
  const { data } = useSuspenseQuery(query)
  const ending = useMutation({
    mutationFn: async (id: string | null) => {
      if (id === null) return (await api.delete('/person/sessions')).data.ended
      await api.delete('/person/sessions/[id]', { params: { id } })
      return 1
    },
    onSettled: () => void queryClient.invalidateQueries({ queryKey: query.queryKey }),
  })
  const endedCount = ending.data ?? 0
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <Problem error={ending.error} />
      <ul aria-label={t('title')} className="-mt-4 -mb-1">
        {data.map(device => (
          <DeviceRow
            key={device.id}
            device={device}
            isBusy={ending.isPending}
            onEnd={() => ending.mutate(device.id)}
          />
        ))}
      </ul>
      <div className="flex flex-wrap items-center gap-x-3.5 gap-y-2">
        {data.length > 1 ? (
          <Button variant="quiet" disabled={ending.isPending} onClick={() => ending.mutate(null)}>
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
