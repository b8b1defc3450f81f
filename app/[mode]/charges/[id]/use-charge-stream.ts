'use client'

import { useEffect, useRef } from 'react'
import { useApi } from '#components/form/api.ts'

/** Delay before opening the stream, because many visits are shorter. Until then the page polls. */
const OPEN_AFTER_MS = 2_000
/** Delay after a refused or broken stream; meanwhile the page polls. */
const RETRY_AFTER_MS = 20_000
/** Silence after which the stream counts as broken: the server sends something every 15 s. */
const SILENT_MAX_MS = 40_000

interface ChargeStreamOptions {
  path: string
  isEnabled: boolean
  onChange: () => void
  setStreaming: (isStreaming: boolean) => void
}

/** Listens to the server-sent events of a charge. Uses fetch: EventSource cannot send headers. */
export function useChargeStream({
  path,
  isEnabled,
  onChange,
  setStreaming,
}: ChargeStreamOptions): void {
  const { fetchRaw } = useApi()
  const latestOnChange = useRef(onChange)
  useEffect(() => {
    latestOnChange.current = onChange
  })
  useEffect(() => {
    if (!isEnabled) return
    const unmountController = new AbortController()
    let timer = setTimeout(listen, OPEN_AFTER_MS)
    async function listen() {
      const isClosedNormally = await readStream(fetchRaw, path, unmountController.signal, () => {
        setStreaming(true)
        latestOnChange.current()
      }).catch(() => false)
      if (unmountController.signal.aborted) return
      setStreaming(false)
      timer = setTimeout(listen, isClosedNormally ? OPEN_AFTER_MS : RETRY_AFTER_MS)
    }
    return () => {
      clearTimeout(timer)
      unmountController.abort()
      setStreaming(false)
    }
  }, [fetchRaw, path, isEnabled, setStreaming])
}

type FetchRaw = ReturnType<typeof useApi>['fetchRaw']

/** Reads the stream until it ends. Returns whether the server closed it normally. */
async function readStream(
  fetchRaw: FetchRaw,
  path: string,
  unmountSignal: AbortSignal,
  onChange: () => void,
): Promise<boolean> {
  const silenceController = new AbortController()
  const abortOnSilence = () => silenceController.abort()
  let silenceTimer = setTimeout(abortOnSilence, SILENT_MAX_MS)
  try {
    const { body } = await fetchRaw(
      path,
      AbortSignal.any([unmountSignal, silenceController.signal]),
    )
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
    for (let rest = ''; reader; ) {
      const { done, value } = await reader.read()
      if (done) return true
      clearTimeout(silenceTimer)
      silenceTimer = setTimeout(abortOnSilence, SILENT_MAX_MS)
      const events = (rest + value).split('\n\n')
      rest = events.pop() ?? ''
      if (events.some(event => event.startsWith('data:'))) onChange()
    }
    return false
  } finally {
    clearTimeout(silenceTimer)
  }
}
