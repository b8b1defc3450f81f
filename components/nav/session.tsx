'use client'

import { useMutation } from '@tanstack/react-query'
import { Check, Eye, LogOut } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { signOut } from '#components/api/sign-in.ts'
import { useApi } from '#components/api/use-api.ts'
import { useTimeText } from '#components/format/format.tsx'
import { storePreference } from '#components/nav/preferences.tsx'
import { Button } from '#components/ui/button.tsx'
import { ACCOUNT_COOKIE, type Viewing } from '#lib/session/schema.ts'

interface AccountSwitchProps {
  accounts: { id: string; name: string }[]
  chosenId: string
  label: string
}

export function AccountSwitch({ accounts, chosenId, label }: AccountSwitchProps) {
  return (
    <ul aria-label={label} className="mb-2 max-h-56 overflow-y-auto">
      {accounts.map(({ id, name }) => (
        <li key={id}>
          <Button
            variant="plain"
            aria-pressed={id === chosenId}
            className="w-full justify-between"
            onClick={() => {
              storePreference(ACCOUNT_COOKIE, id)
              // Full page load: the cached data of this page belongs to the previous account.
              location.assign('/')
            }}
          >
            <span className="truncate">{name}</span>
            {id === chosenId ? <Check size={16} aria-hidden /> : null}
          </Button>
        </li>
      ))}
    </ul>
  )
}

interface ViewingBannerProps {
  viewing: Viewing
  accountName: string
}

/** Banner on each page while staff view an account: which one, until when, and a button to stop. */
export function ViewingBanner({ viewing: { accountId, until }, accountName }: ViewingBannerProps) {
  const t = useTranslations('viewing')
  const api = useApi()
  const timeText = useTimeText()
  // Full page load: the cached data of this page belongs to the viewed account.
  const leave = () => location.assign(`/admin/accounts/${accountId}`)
  const ending = useMutation({
    mutationFn: () => api.delete('/person/viewing'),
    onSuccess: leave,
  })
  useEffect(() => {
    const timer = setTimeout(
      () => location.assign(`/admin/accounts/${accountId}`),
      Date.parse(until) - Date.now(),
    )
    return () => clearTimeout(timer)
  }, [accountId, until])
  return (
    <section
      aria-label={t('begin')}
      data-stays="top"
      className="sticky top-0 z-30 -mx-4 mb-5 grid grid-cols-[minmax(0,1fr)] gap-3 bg-test-soft px-4 py-2.5 text-test md:-mx-8 md:-mt-9 md:mb-8 md:px-8 lg:-mx-10 lg:px-10 print:hidden"
    >
      <div className="flex max-w-[1180px] flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <p className="flex min-w-0 flex-1 basis-56 gap-2.5 font-semibold text-small">
          <Eye size={17} aria-hidden className="mt-px shrink-0" />
          <span className="wrap-anywhere min-w-0">
            {t('banner', { account: accountName, time: timeText(until, { timeStyle: 'short' }) })}
          </span>
        </p>
        <Button variant="quiet" disabled={ending.isPending} onClick={() => ending.mutate()}>
          {ending.isPending ? t('busy') : t('end')}
        </Button>
      </div>
      {ending.error ? <Problem error={ending.error} /> : null}
    </section>
  )
}

interface SignOutButtonProps {
  label: string
  /** Replaces the label when the server could not be reached. */
  retryLabel: string
  to?: string
  className?: string
}

export function SignOutButton({
  label,
  retryLabel,
  to = '/login',
  className = '',
}: SignOutButtonProps) {
  const [state, setState] = useState<'idle' | 'busy' | 'failed'>('idle')
  async function endSession() {
    setState('busy')
    if (await signOut()) location.assign(to)
    else setState('failed')
  }
  return (
    <Button
      variant="plain"
      onClick={endSession}
      disabled={state === 'busy'}
      className={`w-full ${className}`}
    >
      <LogOut size={16} aria-hidden />
      <span role={state === 'failed' ? 'alert' : undefined}>
        {state === 'failed' ? retryLabel : label}
      </span>
    </Button>
  )
}
