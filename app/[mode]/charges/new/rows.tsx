'use client'

import { Plus, X } from 'lucide-react'
import {
  type ComponentProps,
  type MouseEvent,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from 'react'
import { listRowIds, type RowList } from '#app/[mode]/charges/new/new-charge.ts'
import { DRAFT_EVENT, type DraftField } from '#components/form/draft.ts'
import { Button } from '#components/ui/button.tsx'

interface RowInputProps extends ComponentProps<'input'> {
  /** Accessible name: the row and the field. Rows have no space for visible labels. */
  label: string
}

export function RowInput({ label, className = '', ...rest }: RowInputProps) {
  return (
    <input
      aria-label={label}
      autoComplete="off"
      {...rest}
      className={`h-11 min-w-0 rounded-control border border-line2 bg-surface px-3 text-[16px] text-ink transition-colors duration-150 hover:border-faint focus-visible:border-accent ${className}`}
    />
  )
}

interface RemoveRowProps {
  label: string
  onClick: (event: MouseEvent<HTMLButtonElement>) => void
}

export function RemoveRow({ label, onClick }: RemoveRowProps) {
  return (
    <Button variant="plain" aria-label={label} onClick={onClick} className="justify-center">
      <X size={16} aria-hidden />
    </Button>
  )
}

export function AddRow({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <Button variant="quiet" onClick={onClick} className="justify-self-start">
      <Plus size={16} aria-hidden />
      {label}
    </Button>
  )
}

/** Calls back with the fields of a draft, before their values are put back. */
export function useDraftedFields(onDraft: (fields: DraftField[]) => void): void {
  const onEvent = useEffectEvent((event: Event) =>
    onDraft((event as CustomEvent<DraftField[]>).detail),
  )
  useEffect(() => {
    addEventListener(DRAFT_EVENT, onEvent)
    return () => removeEventListener(DRAFT_EVENT, onEvent)
  }, [])
}

/** Manages rows of a form. Stable ids preserve the typed values when another row is removed. */
export function useRows(list: RowList, onRowsChange: (ids: number[]) => void) {
  const [ids, setIds] = useState<number[]>([])
  /** Gets the focus when it appears; rows of a draft do not. */
  const [addedId, setAddedId] = useState<number | null>(null)
  const lastId = useRef(0)
  const updateIds = (nextIds: number[]) => {
    setIds(nextIds)
    onRowsChange(nextIds)
  }
  useDraftedFields(fields => {
    const drafted = listRowIds(list, fields)
    if (drafted.length === 0) return
    lastId.current = Math.max(...drafted)
    updateIds(drafted)
  })
  const add = () => {
    lastId.current += 1
    setAddedId(lastId.current)
    updateIds([...ids, lastId.current])
  }
  const remove = (id: number) => updateIds(ids.filter(otherId => otherId !== id))
  return { ids, addedId, add, remove }
}
