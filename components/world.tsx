'use client'

import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { ApiContext, useApi } from '#components/api.ts'
import { MemberContext } from '#components/may.tsx'
import { ApiProblem, createApi } from '#lib/client/api.ts'
import type { Mode } from '#lib/mode.ts'
import type { SessionAccount } from '#lib/session/schema.ts'

export { useApi }

/** A refusal stays one however often it is asked for; only what never arrived is tried again. */
function mayRetry(failures: number, error: Error): boolean {
  const code = error instanceof ApiProblem ? error.code : ''
  return failures < 3 && ['network', 'service_unavailable'].includes(code)
}

interface WorldOfProps {
  mode: Mode
  account: Pick<SessionAccount, 'id' | 'role' | 'status'>
  children: ReactNode
}

/** Gives what is below it the API of one account and mode, and a memory of what it answered. */
export function WorldOf({ mode, account, children }: WorldOfProps) {
  const [client] = useState(
    () => new QueryClient({ defaultOptions: { queries: { staleTime: 1_000, retry: mayRetry } } }),
  )
  const api = useMemo(() => createApi({ mode, accountId: account.id }), [mode, account.id])
  return (
    <QueryClientProvider client={client}>
      <ApiContext value={api}>
        <MemberContext value={account}>{children}</MemberContext>
      </ApiContext>
    </QueryClientProvider>
  )
}
