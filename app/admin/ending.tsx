'use client'

import { useMutation } from '@tanstack/react-query'
import { CircleAlert } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { ExactTime } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Notice } from '#components/ui/sheet.tsx'
import type { OrderEnding } from '#lib/operator/schema.ts'

const EndDialog = lazyDialog(() => import('#app/admin/end-dialog.tsx'), 'EndDialog')

/** How two admins end an order that the bank never answers. */
export function OrderEndingSection({ ending }: { ending: OrderEnding }) {
  const t = useTranslations('ending')
  const [isOpen, setOpen] = useState(false)
  const { kind, can_propose: canPropose, ended_at: endedAt, proposal } = ending
  if (!endedAt && !proposal && !canPropose) return null
  return (
    <section aria-label={t('title')} className="grid gap-4 border-line border-t pt-5">
      <h3 className="font-semibold">{t('title')}</h3>
      {ending.contradiction ? (
        <Notice tone="bad" icon={CircleAlert}>
          {t(`contradiction.${ending.contradiction}`)}
        </Notice>
      ) : null}
      {ending.bank_text || ending.outcome ? (
        <Facts>
          {ending.bank_text ? (
            <Fact name={t('bankText')}>
              <span className="break-words">{ending.bank_text}</span>
            </Fact>
          ) : null}
          {ending.outcome ? <EndingFacts ending={ending} /> : null}
        </Facts>
      ) : null}
      {proposal ? <Confirmation orderId={ending.id} proposal={proposal} /> : null}
      {canPropose ? (
        <>
          {proposal ? null : <p className="text-muted text-small">{t('text')}</p>}
          <div>
            <Button variant="quiet" onClick={() => setOpen(true)}>
              {proposal ? t('proposeOther') : t('propose')}
            </Button>
          </div>
        </>
      ) : null}
      {isOpen ? <EndDialog orderId={ending.id} kind={kind} onClose={() => setOpen(false)} /> : null}
    </section>
  )
}

function EndingFacts({ ending }: { ending: OrderEnding }) {
  const t = useTranslations('ending')
  const { outcome, reason, ended_at: endedAt } = ending
  const host = t('host')
  return (
    <>
      <Fact name={endedAt ? t('ended') : t('proposed')}>
        <span className="font-semibold">{outcome ? t(`as.${outcome}`) : null}</span>
        {endedAt ? (
          <span className="text-muted">
            {' · '}
            <ExactTime at={endedAt} format="dated" />
          </span>
        ) : null}
      </Fact>
      <Fact name={t('proposedBy')}>{ending.proposed_by ?? host}</Fact>
      {endedAt ? <Fact name={t('confirmedBy')}>{ending.confirmed_by ?? host}</Fact> : null}
      <Fact name={t('reason')}>
        <span className="break-words">{reason}</span>
      </Fact>
    </>
  )
}

interface ConfirmationProps {
  orderId: string
  proposal: NonNullable<OrderEnding['proposal']>
}

function Confirmation({ orderId, proposal }: ConfirmationProps) {
  const t = useTranslations('ending')
  const api = useApi()
  const router = useRouter()
  const confirmation = useMutation({
    mutationFn: (id: string) =>
      api.post('/admin/orders/[id]/end/confirm', { params: { id: orderId }, body: { id } }),
    onSuccess: () => router.refresh(),
  })
  return (
    <>
      <p className="text-small">
        {proposal.can_confirm ? t('confirmText') : t('otherText')} {t('until')}{' '}
        <ExactTime at={proposal.expires_at} format="dated" />.
      </p>
      <Problem error={confirmation.error} />
      {proposal.can_confirm ? (
        <div>
          <Button
            variant="primary"
            disabled={confirmation.isPending}
            onClick={() => confirmation.mutate(proposal.id)}
          >
            {t('confirm')}
          </Button>
        </div>
      ) : null}
    </>
  )
}
