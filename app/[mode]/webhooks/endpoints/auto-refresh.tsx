'use client'

import { useRouter } from 'next/navigation'
import { useEffect } from 'react'

const REFRESH_MS = 15_000
/** Time without input after which refreshing stops, because each refresh extends the session. */
const IDLE_MAX_MS = 5 * 60_000
const INPUT_EVENTS = ['pointermove', 'pointerdown', 'keydown', 'scroll'] as const

export function AutoRefresh() {
  const router = useRouter()
  useEffect(() => {
    let lastInputAt = performance.now()
    const recordInput = () => {
      lastInputAt = performance.now()
    }
    const refresh = () => {
      const isInUse = performance.now() - lastInputAt < IDLE_MAX_MS
      if (isInUse && document.visibilityState === 'visible') router.refresh()
    }
    const onVisibilityChange = () => {
      if (document.visibilityState === 'visible') recordInput()
      refresh()
    }
    const timer = setInterval(refresh, REFRESH_MS)
    document.addEventListener('visibilitychange', onVisibilityChange)
    for (const name of INPUT_EVENTS) addEventListener(name, recordInput, { passive: true })
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', onVisibilityChange)
      for (const name of INPUT_EVENTS) removeEventListener(name, recordInput)
    }
  }, [router])
  return null
}
