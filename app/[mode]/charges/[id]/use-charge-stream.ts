'use client'

import { useEffect, useRef } from 'react'
import { useApi } from '#components/nav/world.tsx'

/** Delay before the stream opens: many visits end earlier. Until then the page polls. */
const OPEN_AFTER_MS = 2_000
/** Delay after a refused or broken stream; meanwhile the page polls. */
const AGAIN_AFTER_MS = 20_000
/** Silence after which the stream counts as broken: the server sends something every 15 s. */
const SILENT_MAX_MS = 40_000

interface ChargeStream {
  path: string
  isWanted: boolean
  onNews: () => void
  /** Reports whether the stream is open, so that polling can stop. */
  setStreaming: (isStreaming: boolean) => void
}

/** Listens to the server-sent events of a charge. Uses fetch: EventSource cannot send headers. */
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

/** Reads the stream until it ends. Returns true when the server closed it normally. */
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
