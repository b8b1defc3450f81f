'use client'

import { useTranslations } from 'next-intl'
import { useAction } from '#components/form/action.ts'
import { Problem } from '#components/form/problem.tsx'
import { anonymousApi, enterAccount } from '#components/join/enter.ts'
import { Button } from '#components/ui/button.tsx'

/** Accepts the invitation, for users who are signed in with the invited e-mail. */
export function JoinButton({ secret }: { secret: string }) {
  const t = useTranslations('join')
  const { run, failure, ...joining } = useAction(async () => {
    const request = { body: { secret } }
    const response = await anonymousApi.send<{ data: { account_id: string } }>(
      'POST',
      '/person/join',
      request,
    )
    enterAccount(response.data.account_id)
  })
  const isBusy = joining.isBusy || joining.isDone
  return (
    <div className="grid gap-5">
      <Problem error={failure} />
      <Button variant="primary" onClick={run} disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('join')}
      </Button>
    </div>
  )
}
