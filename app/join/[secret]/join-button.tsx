'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Problem } from '#components/form/problem.tsx'
import { goInto, openApi } from '#components/join/enter.ts'
import { Button } from '#components/ui/button.tsx'

/** For users signed in with the invited e-mail: they only confirm. */
export function JoinButton({ secret }: { secret: string }) {
  const t = useTranslations('join')
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  async function join() {
    setBusy(true)
    setFailure(null)
    try {
      const order = { body: { secret } }
      const said = await openApi.send<{ data: { account_id: string } }>(
        'POST',
        '/person/join',
        order,
      )
      goInto(said.data.account_id)
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
  return (
    <div className="grid gap-5">
      <Problem error={failure} />
      <Button look="primary" onClick={join} disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('join')}
      </Button>
    </div>
  )
}
