import { Check, Clock, Undo2 } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Chip } from '#components/ui/chip.tsx'
import type { DifferenceLine } from '#lib/operator/differences/schema.ts'

/** Names a kind of item, or how one was resolved; those of a later version by their code. */
export function useKindName(): (kind: string) => string {
  const t = useTranslations('differences')
  return kind => (t.has(`kind.${kind}` as never) ? t(`kind.${kind}` as never) : kind)
}

function useResolutionName(): (resolution: string) => string {
  const t = useTranslations('differences')
  return name => (t.has(`resolution.${name}` as never) ? t(`resolution.${name}` as never) : name)
}

export function useFactName(): (fact: string) => string {
  const t = useTranslations('differences')
  return name => (t.has(`fact.${name}` as never) ? t(`fact.${name}` as never) : name)
}

/** The simulated bank has a name that people do not choose. */
export function useConnectionName(): (name: string) => string {
  const t = useTranslations('differences')
  return name => (name === 'simulator' ? t('simulator') : name)
}

type State = Pick<DifferenceLine, 'is_giving_back' | 'resolved_at' | 'resolution'>

export function ItemState({ item }: { item: State }) {
  const t = useTranslations('differences')
  const resolutionName = useResolutionName()
  const ended = item.resolution === 'acknowledge' ? 'acknowledged' : 'resolved'
  const state = item.resolved_at ? ended : item.is_giving_back ? 'giving_back' : 'open'
  const styles = {
    resolved: { tone: 'ok', icon: Check },
    // Without an entry, the difference stays.
    acknowledged: { tone: 'wait', icon: Check },
    giving_back: { tone: 'wait', icon: Undo2 },
    open: { tone: 'wait', icon: Clock },
  } as const
  const isNamed = item.resolved_at && item.resolution
  return (
    <span data-testid="item-state">
      <Chip {...styles[state]}>
        {isNamed ? resolutionName(item.resolution ?? '') : t(`state.${state}`)}
      </Chip>
    </span>
  )
}
