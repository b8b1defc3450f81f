'use client'

import { useTranslations } from 'next-intl'
import { useForm } from '#components/form/form.ts'
import { Problem } from '#components/form/problem.tsx'
import { goInto, openApi } from '#components/join/enter.ts'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { accountRequest } from '#lib/rooms/accounts/schema.ts'

/** Another account for somebody who is signed in. */
export function OpenForm({ secret }: { secret?: string }) {
  const t = useTranslations('signUp')
  const { problems, failure, isBusy, props } = useForm({
    schema: accountRequest,
    read: data => ({
      account_name: String(data.get('account_name')).trim() || undefined,
      secret,
    }),
    send: async body => {
      const said = await openApi.send<{ data: { account_id: string } }>(
        'POST',
        '/person/accounts',
        { body },
      )
      goInto(said.data.account_id)
    },
  })
  return (
    <form {...props} method="post" className="grid gap-5">
      <Problem error={failure} />
      <Field
        label={t('accountName')}
        name="account_name"
        maxLength={100}
        autoComplete="organization"
        hint={t('accountNameHint')}
        problem={problems.account_name ? t(`accountNameProblem.${problems.account_name}`) : null}
      />
      <Button look="primary" type="submit" disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('open')}
      </Button>
    </form>
  )
}
