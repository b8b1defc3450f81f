'use client'

import { createContext, type ReactNode, use } from 'react'
import type { SessionAccount } from '#lib/edge/session/schema.ts'
import { type AnyPermission, hasPermissionNow } from '#lib/services/people/roles.ts'

export const MemberContext = createContext<Pick<SessionAccount, 'role' | 'status'> | null>(null)

/** Returns a check of the member's permissions; the interface hides what they may not do. */
export function useMay(): (wanted: AnyPermission) => boolean {
  const member = use(MemberContext)
  return wanted => member !== null && hasPermissionNow(member, wanted)
}

interface IfMayProps {
  do: AnyPermission
  children: ReactNode
}

export function IfMay({ do: wanted, children }: IfMayProps) {
  return useMay()(wanted) ? children : null
}
