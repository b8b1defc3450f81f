import { Check, Clock, Undo2 } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useResolutionName } from '#app/admin/reconciliation/names.ts'
import { Chip } from '#components/ui/chip.tsx'
import type { DifferenceLine } from '#lib/operator/differences/schema.ts'

type State = Pick<DifferenceLine, 'is_giving_back' | 'resolved_at' | 'resolution'>

export function ItemState({ item }: { item: State }) {
  const t = useTranslations('differences')
  const resolutionName = useResolutionName()
  const state = item.resolved_at ? 'resolved' : item.is_giving_back ? 'giving_back' : 'open'
  const styles = {
    resolved: { tone: 'ok', icon: Check },
    giving_back: { tone: 'wait', icon: Undo2 },
    open: { tone: 'wait', icon: Clock },
  } as const
  const isNamed = state === 'resolved' && item.resolution
  return (
    <span data-testid="item-state">
      <Chip {...styles[state]}>
        {isNamed ? resolutionName(item.resolution ?? '') : t(`state.${state}`)}
      </Chip>
    </span>
  )
}
