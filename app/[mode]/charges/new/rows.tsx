'use client'

import { Plus, X } from 'lucide-react'
import { type ComponentProps, type MouseEvent, useRef, useState } from 'react'
import { Button } from '#components/ui/button.tsx'

interface RowInputProps extends ComponentProps<'input'> {
  /** Accessible name: the row and the field. Rows have no room for visible labels. */
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
    <Button look="plain" aria-label={label} onClick={onClick} className="justify-center">
      <X size={16} aria-hidden />
    </Button>
  )
}

export function AddRow({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <Button look="quiet" onClick={onClick} className="justify-self-start">
      <Plus size={16} aria-hidden />
      {label}
    </Button>
  )
}

/** Manages rows of a form; stable ids keep the typed values when another row is removed. */
export function useRows(onRows: (ids: number[]) => void) {
  const [ids, setIds] = useState<number[]>([])
  const last = useRef(0)
  const set = (next: number[]) => {
    setIds(next)
    onRows(next)
  }
  const add = () => {
    last.current += 1
    set([...ids, last.current])
  }
  const remove = (id: number) => set(ids.filter(one => one !== id))
  return { ids, add, remove }
}
