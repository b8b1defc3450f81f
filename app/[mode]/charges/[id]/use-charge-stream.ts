'use client'

import { useEffect, useRef } from 'react'
import { useApi } from '#components/nav/world.tsx'

/** Many a page is left before this; until then it asks. */
const OPEN_AFTER_MS = 2_000
/** After one that was refused or broke; meanwhile the page asks. */
const AGAIN_AFTER_MS = 20_000
/** The server says something every 15 s; whoever hears nothing for so long hears nobody. */
const SILENT_MAX_MS = 40_000

interface ChargeStream {
  path: string
  isWanted: boolean
  onNews: () => void
  /** Whether somebody tells, so that nobody need ask. */
  setStreaming: (isStreaming: boolean) => void
}

/** Hears the server's events of a charge, through fetch: an EventSource sends no headers. */
export function useChargeStream({ path, isWanted, onNews, setStreaming }: ChargeStream): void {
  const { open } = useApi()
  const latest = useRef(onNews)
  useEffect(() => {
    latest.current = onNews
  })
  useEffect(() => {
    if (!isWanted) return
    const leaving = new AbortController()
    let timer = setTimeout(listen, OPEN_AFTER_MS)
    async function listen() {
      const isWhole = await hear(open, path, leaving.signal, () => {
        setStreaming(true)
        latest.current()
      }).catch(() => false)
      if (leaving.signal.aborted) return
      setStreaming(false)
      timer = setTimeout(listen, isWhole ? OPEN_AFTER_MS : AGAIN_AFTER_MS)
    }
    return () => {
      clearTimeout(timer)
      leaving.abort()
      setStreaming(false)
    }
  }, [open, path, isWanted, setStreaming])
}

type Open = ReturnType<typeof useApi>['open']

/** True: the server ended it as it should. */
async function hear(
  open: Open,
  path: string,
  leaving: AbortSignal,
  onNews: () => void,
): Promise<boolean> {
  const silent = new AbortController()
  const giveUp = () => silent.abort()
  let watch = setTimeout(giveUp, SILENT_MAX_MS)
  try {
    const { body } = await open(path, AbortSignal.any([leaving, silent.signal]))
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
    for (let rest = ''; reader; ) {
      const { done, value } = await reader.read()
      if (done) return true
      clearTimeout(watch)
      watch = setTimeout(giveUp, SILENT_MAX_MS)
      const events = (rest + value).split('\n\n')
      rest = events.pop() ?? ''
      if (events.some(event => event.startsWith('data:'))) onNews()
    }
    return false
  } finally {
    clearTimeout(watch)
  }
}
