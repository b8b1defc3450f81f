'use client'

import { useStory } from '#app/[mode]/charges/[id]/story.tsx'
import { ChargeState } from '#components/status/state-chips.tsx'

/** The state of the page's charge, as it stands now. */
export function StatusChip() {
  const { status } = useStory().story.charge
  return (
    <span data-testid="charge-status">
      <ChargeState status={status} />
    </span>
  )
}
