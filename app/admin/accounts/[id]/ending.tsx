'use client'

import { CircleAlert } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useAction, useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { ExactTime } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Notice } from '#components/ui/sheet.tsx'
import type { WithdrawalEnding } from '#lib/operator/schema.ts'

const EndDialog = lazyDialog(() => import('#app/admin/accounts/[id]/end-dialog.tsx'), 'EndDialog')

interface EndingProps {
  /** Path of the API that ends the withdrawal. */
  path: string
  ending: WithdrawalEnding
}

/** How two admins end a withdrawal that the bank never answers. */
export function Ending({ path, ending }: EndingProps) {
  const t = useTranslations('adminAccount')
  const [isOpen, setOpen] = useState(false)
  const { can_propose: canPropose, ended_at: endedAt, proposal } = ending
  if (!endedAt && !proposal && !canPropose) return null
  return (
    <section aria-label={t('ending.title')} className="grid gap-4 border-line border-t pt-5">
      <h3 className="font-semibold">{t('ending.title')}</h3>
      {ending.contradiction ? (
        <Notice tone="bad" icon={CircleAlert}>
          {t(`ending.contradiction.${ending.contradiction}`)}
        </Notice>
      ) : null}
      {ending.outcome ? <EndingFacts ending={ending} /> : null}
      {proposal ? <Confirmation path={path} proposal={proposal} /> : null}
      {canPropose ? (
        <>
          {proposal ? null : <p className="text-muted text-small">{t('ending.text')}</p>}
          <div>
            <Button variant="quiet" onClick={() => setOpen(true)}>
              {proposal ? t('ending.proposeOther') : t('ending.propose')}
            </Button>
          </div>
        </>
      ) : null}
      {isOpen ? <EndDialog path={path} onClose={() => setOpen(false)} /> : null}
    </section>
  )
}

function EndingFacts({ ending }: { ending: WithdrawalEnding }) {
  const t = useTranslations('adminAccount')
  const { outcome, reason, ended_at: endedAt } = ending
  const host = t('ending.host')
  return (
    <Facts>
      <Fact name={endedAt ? t('ending.ended') : t('ending.proposed')}>
        <span className="font-semibold">{outcome ? t(`ending.as.${outcome}`) : null}</span>
        {endedAt ? (
          <span className="text-muted">
            {' · '}
            <ExactTime at={endedAt} format="dated" />
          </span>
        ) : null}
      </Fact>
      <Fact name={t('ending.proposedBy')}>{ending.proposed_by ?? host}</Fact>
      {endedAt ? <Fact name={t('ending.confirmedBy')}>{ending.confirmed_by ?? host}</Fact> : null}
      <Fact name={t('reason')}>
        <span className="break-words">{reason}</span>
      </Fact>
    </Facts>
  )
}

interface ConfirmationProps {
  path: string
  proposal: NonNullable<WithdrawalEnding['proposal']>
}

function Confirmation({ path, proposal }: ConfirmationProps) {
  const t = useTranslations('adminAccount')
  const api = useApi()
  const router = useRouter()
  const confirmation = useAction(async (id: string) => {
    await api.send('POST', `${path}/confirm`, { body: { id } })
    router.refresh()
  })
  return (
    <>
      <p className="text-small">
        {proposal.can_confirm ? t('ending.confirmText') : t('ending.otherText')} {t('ending.until')}{' '}
        <ExactTime at={proposal.expires_at} format="dated" />.
      </p>
      <Problem error={confirmation.failure} />
      {proposal.can_confirm ? (
        <div>
          <Button
            variant="primary"
            disabled={confirmation.isBusy}
            onClick={() => confirmation.run(proposal.id)}
          >
            {t('ending.confirm')}
          </Button>
        </div>
      ) : null}
    </>
  )
}
