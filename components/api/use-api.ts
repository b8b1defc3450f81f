'use client'

import { createContext, use } from 'react'
import type { Api } from '#components/api/client.ts'

export const ApiContext = createContext<Api | null>(null)

export function useApi(): Api {
  const api = use(ApiContext)
  if (!api) throw new Error('useApi() is called outside <ApiProvider>')
  return api
}

/** Returns the API client, or null on pages without an account, such as sign-in. */
export function useOptionalApi(): Api | null {
  return use(ApiContext)
}
