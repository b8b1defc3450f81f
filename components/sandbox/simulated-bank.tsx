'use client'

import { useMutation } from '@tanstack/react-query'
import { Check, type LucideIcon, ShieldAlert, Undo2, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useId, useRef, useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import type { AskingDecision, SandboxCall } from '#components/sandbox/decision-dialog.tsx'
import { Button } from '#components/ui/button.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Sheet } from '#components/ui/sheet.tsx'
import type { EventType } from '#lib/webhooks/states.ts'

const DecisionDialog = lazyDialog(
  () => import('#components/sandbox/decision-dialog.tsx'),
  'DecisionDialog',
)

const ICONS = {
  complete: Check,
  approve: Check,
  win: Check,
  refuse: X,
  lose: X,
  dispute: ShieldAlert,
  return: Undo2,
} satisfies Record<SimulatedDecision['name'], LucideIcon>

/** A decision of the bank that is possible now. */
export type SimulatedDecision =
  | AskingDecision
  | (SandboxCall & { name: 'complete' | 'approve' | 'win'; asks?: undefined })

export interface DecisionGroup {
  id: string
  /** What is decided. Absent: the resource of the page. */
  title?: string
  decisions: SimulatedDecision[]
}

interface SimulatedBankProps {
  /** How to keep the bank from deciding by itself. */
  hint: string | null
  groups: DecisionGroup[]
  onDecided: () => Promise<unknown>
}

/** Lets the user decide in place of the bank. For test mode only. */
export function SimulatedBank({ hint, groups, onDecided }: SimulatedBankProps) {
  const t = useTranslations('simulate')
  const api = useApi()
  const titleId = useId()
  const outcome = useRef<HTMLParagraphElement>(null)
  const [asking, setAsking] = useState<AskingDecision | null>(null)
  const [event, setEvent] = useState<EventType | null>(null)
  const decision = useMutation({
    mutationFn: (chosen: SimulatedDecision) => chosen.send(api, {}),
    onMutate: () => setEvent(null),
    onSuccess: (_, chosen) => {
      setEvent(chosen.event)
      // The pressed button is about to go.
      outcome.current?.focus()
    },
    onSettled: onDecided,
  })
  function choose(chosen: SimulatedDecision) {
    if (!chosen.asks) return decision.mutate(chosen)
    setEvent(null)
    setAsking(chosen)
  }
  if (groups.length === 0 && !event && !decision.error && !asking) return null
  return (
    <Sheet className="border-test! px-4 py-5 md:px-7 md:py-6">
      <section aria-labelledby={titleId}>
        <h2 id={titleId} className="text-title">
          {t('title')}
        </h2>
        <p className="mt-1 text-muted text-small">
          {t('text')} {hint}
        </p>
        {groups.map(group => (
          <Group key={group.id} group={group} isBusy={decision.isPending} onChoose={choose} />
        ))}
        {decision.error ? (
          <div className="mt-4">
            <Problem error={decision.error} />
          </div>
        ) : null}
        <p
          ref={outcome}
          role="status"
          tabIndex={-1}
          className="wrap-anywhere text-small outline-none not-empty:mt-4"
        >
          {event ? t('done', { event }) : null}
        </p>
      </section>
      {asking ? (
        <DecisionDialog
          decision={asking}
          settle={onDecided}
          onDecided={() => setEvent(asking.event)}
          onClose={() => setAsking(null)}
        />
      ) : null}
    </Sheet>
  )
}

interface GroupProps {
  group: DecisionGroup
  isBusy: boolean
  onChoose: (decision: SimulatedDecision) => void
}

function Group({ group: { title, decisions }, isBusy, onChoose }: GroupProps) {
  const t = useTranslations('simulate')
  return (
    <fieldset className="mt-4 min-w-0">
      {title ? <legend className="mb-2 font-medium text-small">{title}</legend> : null}
      <div className="flex flex-wrap gap-2.5">
        {decisions.map(decision => {
          const Icon = ICONS[decision.name]
          return (
            <Button
              key={decision.name}
              variant="quiet"
              disabled={isBusy}
              onClick={() => onChoose(decision)}
            >
              <Icon size={16} aria-hidden />
              {t(`decision.${decision.name}`)}
            </Button>
          )
        })}
      </div>
    </fieldset>
  )
}
