'use client'

import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import dynamic from 'next/dynamic'
import { type ReactNode, useMemo, useState } from 'react'
import { ApiContext, useApi } from '#components/form/api.ts'
import { MemberContext } from '#components/nav/may.tsx'
import type { Mode } from '#lib/base/mode.ts'
import { ApiError, createApi } from '#lib/edge/client/api.ts'
import type { SessionAccount } from '#lib/edge/session/schema.ts'

export { useApi }

const ProofDialog = dynamic(
  async () => (await import('#components/proof/proof-dialog.tsx')).ProofDialog,
)

/** Retries network failures and service_unavailable; other error responses would not change. */
function mayRetry(failures: number, error: Error): boolean {
  const code = error instanceof ApiError ? error.code : ''
  return failures < 3 && ['network', 'service_unavailable'].includes(code)
}

interface WorldOfProps {
  mode: Mode
  /** Null on pages that belong to no account: the operator's and the user's own. */
  account: Pick<SessionAccount, 'id' | 'role' | 'status'> | null
  children: ReactNode
}

/** Provides the API client of one account and mode, and a query cache, to its children. */
export function WorldOf({ mode, account, children }: WorldOfProps) {
  const accountId = account?.id ?? null
  const [asked, setAsked] = useState<((isProved: boolean) => void) | null>(null)
  const [client] = useState(
    () => new QueryClient({ defaultOptions: { queries: { staleTime: 1_000, retry: mayRetry } } }),
  )
  const api = useMemo(() => {
    const askProof = () => new Promise<boolean>(resolve => setAsked(() => resolve))
    return createApi({ mode, accountId }, askProof)
  }, [mode, accountId])
  const answer = (isProved: boolean) => {
    asked?.(isProved)
    setAsked(null)
  }
  return (
    <QueryClientProvider client={client}>
      <ApiContext value={api}>
        <MemberContext value={account}>{children}</MemberContext>
        {asked ? <ProofDialog onEnd={answer} /> : null}
      </ApiContext>
    </QueryClientProvider>
  )
}
