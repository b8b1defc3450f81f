'use client'

import { useQueries } from '@tanstack/react-query'
import { useApi } from '#components/form/api.ts'
import type { BankLine, BankMoney } from '#lib/operator/banks/schema.ts'

/** The balance is asked of the bank: more often would show little more. */
const REFRESH_MS = 60_000

export interface MoneyRead {
  money: BankMoney | null
  isPending: boolean
}

/** Asks each bank that can be called for its balance, after the page is shown. */
export function useBankMoney(banks: Pick<BankLine, 'id' | 'state'>[]): Map<string, MoneyRead> {
  const api = useApi()
  const asked = banks.filter(({ state }) => state !== 'closed' && state !== 'unserved')
  const results = useQueries({
    queries: asked.map(({ id }) => ({
      queryKey: ['bank-money', id],
      queryFn: async ({ signal }: { signal: AbortSignal }) =>
        (await api.get<{ data: BankMoney }>(`/admin/banks/${id}/balance`, signal)).data,
      staleTime: REFRESH_MS,
      refetchInterval: REFRESH_MS,
      retry: false,
    })),
  })
  return new Map(
    asked.map(({ id }, index) => {
      const { data = null, isPending = false } = results[index] ?? {}
      return [id, { money: data, isPending }]
    }),
  )
}

/** Percent of what merchants own that is there; null if they own nothing, or the balance is unknown. */
export function coverOf({ bank, owned }: Pick<BankMoney, 'bank' | 'owned'>): number | null {
  return bank === null || owned === 0 ? null : Math.floor((bank / owned) * 100)
}
