'use client'

import { CircleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useAction } from '#components/form/action.ts'
import { useApi } from '#components/form/api.ts'
import { fetchProviderUrl } from '#components/form/auth-calls.ts'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Notice } from '#components/ui/notice.tsx'

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
  const [isUnreachable, setUnreachable] = useState(false)
  const connection = useAction(async () => {
    setUnreachable(false)
    await api.send('POST', '/person/openid')
    const address = await fetchProviderUrl(provider, path)
    if (address) location.assign(address)
    else setUnreachable(true)
  })
  const isBusy = connection.isBusy || (connection.isDone && !isUnreachable)
  return (
    <div className="grid gap-5">
      <Problem error={connection.failure} />
      {isUnreachable || isRefused ? (
        <Notice tone="bad" icon={CircleAlert} role="alert">
          {isUnreachable ? t('failed') : t('refused', { name })}
        </Notice>
      ) : null}
      <div>
        <Button variant="quiet" onClick={connection.run} disabled={isBusy}>
          {t('connect', { name })}
        </Button>
      </div>
    </div>
  )
}
