'use client'

import { createContext, use } from 'react'
import type { Api } from '#lib/edge/client/api.ts'

export const ApiContext = createContext<Api | null>(null)

/** The API in the world that this page shows. */
export function useApi(): Api {
  const api = use(ApiContext)
  if (!api) throw new Error('useApi() is called outside <WorldOf>')
  return api
}

/** The same for what also stands in pages that belong to no world: the operator's, the sign-in. */
export function useApiIfAny(): Api | null {
  return use(ApiContext)
}
