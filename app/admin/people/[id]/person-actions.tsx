'use client'

import { KeyRound, ShieldOff } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/api/use-api.ts'
import { Button } from '#components/ui/button.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import type { PersonDetail } from '#lib/operator/schema.ts'

const ReasonDialog = lazyDialog(() => import('#app/admin/reason-dialog.tsx'), 'ReasonDialog')

const PATHS = { password: 'password', factor: 'second-factor' } as const

export function PersonActions({ person }: { person: PersonDetail }) {
  const t = useTranslations('adminPeople')
  const api = useApi()
  const [action, setAction] = useState<keyof typeof PATHS | null>(null)
  const [done, setDone] = useState<keyof typeof PATHS | null>(null)
  const { id, name, email } = person
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap gap-3">
        <Button variant="quiet" onClick={() => setAction('password')}>
          <KeyRound size={16} aria-hidden />
          {t('reset.password')}
        </Button>
        {person.has_second_factor ? (
          <Button variant="quiet" onClick={() => setAction('factor')}>
            <ShieldOff size={16} aria-hidden />
            {t('reset.factor')}
          </Button>
        ) : null}
      </div>
      <p role="status" className="text-ok text-small empty:hidden">
        {done ? t(`resetDone.${done}`, { email }) : null}
      </p>
      {action ? (
        <ReasonDialog
          title={t(`resetTitle.${action}`, { name })}
          description={t(`resetText.${action}`, { email })}
          action={t(`reset.${action}`)}
          reasonHint={t('reasonHint')}
          send={async body => {
            await api.post(`/admin/people/[id]/${PATHS[action]}`, { params: { id }, body })
            setDone(action)
          }}
          isDestructive={action === 'factor'}
          onClose={() => setAction(null)}
        />
      ) : null}
    </div>
  )
}
