'use client'

import { useRouter } from 'next/navigation'
import { useEffect } from 'react'

const REFRESH_MS = 15_000
/** Refreshing stops after this time without input: each refresh extends the session. */
const ATTENDED_MS = 5 * 60_000
const TOUCHES = ['pointermove', 'pointerdown', 'keydown', 'scroll'] as const

/** Refreshes states and counts while the page is visible and in use. */
export function KeepFresh() {
  const router = useRouter()
  useEffect(() => {
    let touchedAt = performance.now()
    const touch = () => {
      touchedAt = performance.now()
    }
    const refresh = () => {
      const isAttended = performance.now() - touchedAt < ATTENDED_MS
      if (isAttended && document.visibilityState === 'visible') router.refresh()
    }
    const comeBack = () => {
      if (document.visibilityState === 'visible') touch()
      refresh()
    }
    const timer = setInterval(refresh, REFRESH_MS)
    document.addEventListener('visibilitychange', comeBack)
    for (const name of TOUCHES) addEventListener(name, touch, { passive: true })
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', comeBack)
      for (const name of TOUCHES) removeEventListener(name, touch)
    }
  }, [router])
  return null
}
