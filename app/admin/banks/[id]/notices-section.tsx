'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useAction, useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Section } from '#components/ui/sheet.tsx'
import type { BankDetail, NoticesRegistered } from '#lib/operator/banks/schema.ts'

/** Registers the address for notices; that of another system is replaced only after a confirmation. */
export function NoticesSection({ bank }: { bank: BankDetail }) {
  const t = useTranslations('banks')
  const api = useApi()
  const [registered, setRegistered] = useState<NoticesRegistered | null>(null)
  const [isReplacing, setReplacing] = useState(false)
  const { run, isBusy, failure } = useAction(async (replaces: boolean) => {
    const path = `/admin/banks/${bank.id}/notices`
    const body = { replaces_foreign: replaces }
    setRegistered((await api.send<{ data: NoticesRegistered }>('POST', path, { body })).data)
    setReplacing(false)
  })
  const foreign = registered?.keys.filter(({ state }) => state === 'foreign') ?? []
  if (!bank.can.register_notices)
    return (
      <Section title={t('notices.title')} text={t('notices.text')}>
        <p className="text-muted">{t('notices.unavailable')}</p>
      </Section>
    )
  return (
    <Section title={t('notices.title')} text={t('notices.text')}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        {registered ? <Registered registered={registered} /> : null}
        {isReplacing ? null : <Problem error={failure} />}
        <div className="flex flex-wrap gap-3">
          <Button variant="quiet" onClick={() => run(false)} disabled={isBusy}>
            {isBusy ? t('busy') : t('notices.register')}
          </Button>
          {foreign.length > 0 ? (
            <Button variant="quiet" onClick={() => setReplacing(true)} className="text-bad!">
              {t('notices.replace')}
            </Button>
          ) : null}
        </div>
      </div>
      <Dialog
        isOpen={isReplacing}
        onClose={() => setReplacing(false)}
        title={t('notices.replaceTitle')}
        description={t('notices.replaceText', {
          host: foreign.map(({ host }) => host ?? '').join(', '),
        })}
      >
        <div className="grid gap-5">
          <DialogActions
            action={t('notices.replace')}
            busy={t('busy')}
            isBusy={isBusy}
            failure={failure}
            isDestructive
            onCancel={() => setReplacing(false)}
            onConfirm={() => run(true)}
          />
        </div>
      </Dialog>
    </Section>
  )
}

function Registered({ registered: { keys, refusal } }: { registered: NoticesRegistered }) {
  const t = useTranslations('banks')
  return (
    <div role="status">
      {refusal === null ? (
        <ul>
          {keys.map(({ key, state, host }) => (
            <li key={key} className={`break-words ${state === 'foreign' ? 'text-bad' : ''}`}>
              {t(`notices.${state}`, { key, host: host ?? '' })}
            </li>
          ))}
        </ul>
      ) : (
        <p className="break-words font-medium text-bad">
          {t('notices.refused', { reason: refusal })}
        </p>
      )}
    </div>
  )
}
