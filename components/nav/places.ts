import { Building2, House, type LucideIcon } from 'lucide-react'
import type { SessionUser } from '#lib/session/schema.ts'

export type PlaceName = 'home' | 'accounts'

export interface Place {
  name: PlaceName
  href: string
  icon: LucideIcon
}

/** The places that exist for a person, in the order of the rail and of the bottom bar. */
export function placesOf(user: SessionUser, mode: string): Place[] {
  const places: Place[] = []
  if (user.accounts.length > 0 || !user.isAdmin) {
    places.push({ name: 'home', href: `/${mode}/home`, icon: House })
  }
  if (user.isAdmin) places.push({ name: 'accounts', href: '/admin/accounts', icon: Building2 })
  return places
}
