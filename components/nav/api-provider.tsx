'use client'

import { QueryClient, QueryClientProvider, useQueryClient } from '@tanstack/react-query'
import { WifiOff } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { type ReactNode, useEffect, useMemo, useState } from 'react'
import { ApiError, createApi } from '#components/api/client.ts'
import { ApiContext } from '#components/api/use-api.ts'
import { MemberContext, type ViewingMember } from '#components/nav/permissions.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { SessionAccount } from '#lib/session/schema.ts'

const ProofDialog = lazyDialog(() => import('#components/proof/proof-dialog.tsx'), 'ProofDialog')

/** Retries reads that failed for the moment; a retry changes no other error. */
function shouldRetry(failures: number, error: Error): boolean {
  const code = error instanceof ApiError ? error.code : ''
  return failures < 3 && ['network', 'unread'].includes(code)
}

interface ApiProviderProps {
  mode: Mode
  userId: string
  /** Null on pages that belong to no account: the operator's and the user's own. */
  account: (ViewingMember & Pick<SessionAccount, 'id'>) | null
  children: ReactNode
}

export function ApiProvider({ mode, userId, account, children }: ApiProviderProps) {
  const accountId = account?.id ?? null
  const [resolveProof, setResolveProof] = useState<((isProved: boolean) => void) | null>(null)
  const [queryClient] = useState(
    () =>
      new QueryClient({
        defaultOptions: {
          queries: { staleTime: 1_000, retry: shouldRetry },
          // Without a network, a write fails at once instead of being sent later.
          mutations: { networkMode: 'always' },
        },
      }),
  )
  const api = useMemo(() => {
    const requestProof = () => new Promise<boolean>(resolve => setResolveProof(() => resolve))
    return createApi({ mode, userId, accountId }, requestProof)
  }, [mode, userId, accountId])
  const endProof = (isProved: boolean) => {
    resolveProof?.(isProved)
    setResolveProof(null)
  }
  return (
    <QueryClientProvider client={queryClient}>
      <ApiContext value={api}>
        <MemberContext value={account}>{children}</MemberContext>
        {resolveProof ? <ProofDialog onEnd={endProof} /> : null}
      </ApiContext>
    </QueryClientProvider>
  )
}

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
