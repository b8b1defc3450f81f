'use client'

import { useQueryClient } from '@tanstack/react-query'
import { WifiOff } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { ApiError } from '#lib/edge/client/api.ts'

const LOOK_AGAIN_MS = 3_000

/** Shows when the server is unreachable, polls it, and refetches everything once it responds. */
export function Connection() {
  const t = useTranslations('connection')
  const queries = useQueryClient()
  const router = useRouter()
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    const lose = () => setLost(true)
    addEventListener('offline', lose)
    const unsubscribe = queries.getQueryCache().subscribe(({ query }) => {
      const { error } = query.state
      if (error instanceof ApiError && error.code === 'network') lose()
    })
    return () => {
      removeEventListener('offline', lose)
      unsubscribe()
    }
  }, [queries])
  useEffect(() => {
    if (!isLost) return
    const timer = setInterval(async () => {
      const isBack = await fetch('/healthz', { cache: 'no-store' }).then(
        answer => answer.ok,
        () => false,
      )
      if (!isBack) return
      setLost(false)
      await queries.invalidateQueries()
      router.refresh()
    }, LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  }, [isLost, queries, router])
  return (
    <div
      role="status"
      className="pointer-events-none fixed inset-x-0 top-3 z-50 flex justify-center px-4"
    >
      {isLost ? (
        <p className="flex items-center gap-2.5 rounded-control bg-ink px-4 py-2.5 font-medium text-paper text-small shadow-over">
          <WifiOff size={16} aria-hidden className="shrink-0" />
          {t('lost')}
        </p>
      ) : null}
    </div>
  )
}
