'use client'

import { useRouter } from 'next/navigation'
import { useEffect } from 'react'

const REFRESH_MS = 15_000

/** Reads the page again now and then while somebody looks at it: states and counts stay true. */
export function KeepFresh() {
  const router = useRouter()
  useEffect(() => {
    const refresh = () => document.visibilityState === 'visible' && router.refresh()
    const timer = setInterval(refresh, REFRESH_MS)
    document.addEventListener('visibilitychange', refresh)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', refresh)
    }
  }, [router])
  return null
}
