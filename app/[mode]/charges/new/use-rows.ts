'use client'

import { useRef, useState } from 'react'

/** Rows of a form that are added and taken away; each keeps its id, and so what was typed in it. */
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
