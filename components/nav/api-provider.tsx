'use client'

import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { ApiContext } from '#components/form/api.ts'
import { type Member, MemberContext } from '#components/nav/permissions.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { ApiError, createApi } from '#lib/core/call-api.ts'
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
  account: (Member & Pick<SessionAccount, 'id'>) | null
  children: ReactNode
}

export function ApiProvider({ mode, userId, account, children }: ApiProviderProps) {
  const accountId = account?.id ?? null
  const [resolveProof, setResolveProof] = useState<((isProved: boolean) => void) | null>(null)
  const [queryClient] = useState(
    () =>
      new QueryClient({ defaultOptions: { queries: { staleTime: 1_000, retry: shouldRetry } } }),
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
