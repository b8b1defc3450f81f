'use client'

import { createContext, type ReactNode, use } from 'react'
import { type AnyPermission, hasPermissionNow } from '#lib/people/roles.ts'
import type { SessionAccount } from '#lib/session/schema.ts'

export type ViewingMember = Pick<SessionAccount, 'role' | 'status'> & {
  receives?: boolean
  paysOut?: boolean
}

export const MemberContext = createContext<ViewingMember | null>(null)

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
