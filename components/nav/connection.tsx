'use client'

import { useQueryClient } from '@tanstack/react-query'
import { WifiOff } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { ApiError } from '#lib/core/call-api.ts'

const RECHECK_MS = 3_000

export function ConnectionNotice() {
  const t = useTranslations('connection')
  const queryClient = useQueryClient()
  const router = useRouter()
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    const markLost = () => setLost(true)
    addEventListener('offline', markLost)
    const unsubscribe = queryClient.getQueryCache().subscribe(({ query }) => {
      const { error } = query.state
      if (error instanceof ApiError && error.code === 'network') markLost()
    })
    return () => {
      removeEventListener('offline', markLost)
      unsubscribe()
    }
  }, [queryClient])
  useEffect(() => {
    if (!isLost) return
    const timer = setInterval(async () => {
      const isBack = await fetch('/healthz', { cache: 'no-store' }).then(
        response => response.ok,
        () => false,
      )
      if (!isBack) return
      setLost(false)
      await queryClient.invalidateQueries()
      router.refresh()
    }, RECHECK_MS)
    return () => clearInterval(timer)
  }, [isLost, queryClient, router])
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
