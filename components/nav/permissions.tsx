'use client'

import { createContext, type ReactNode, use } from 'react'
import type { SessionAccount } from '#lib/edge/session/schema.ts'
import { type AnyPermission, hasPermissionNow } from '#lib/services/people/roles.ts'

export type Member = Pick<SessionAccount, 'role' | 'status'> & {
  receives?: boolean
  paysOut?: boolean
}

export const MemberContext = createContext<Member | null>(null)

export function useHasPermission(): (permission: AnyPermission) => boolean {
  const member = use(MemberContext)
  return permission => member !== null && hasPermissionNow(member, permission)
}

interface IfAllowedProps {
  permission: AnyPermission
  children: ReactNode
}

export function IfAllowed({ permission, children }: IfAllowedProps) {
  return useHasPermission()(permission) ? children : null
}
