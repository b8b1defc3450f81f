import {
  ArrowLeftRight,
  ArrowUpRight,
  Building2,
  House,
  KeyRound,
  Landmark,
  type LucideIcon,
  Plus,
  QrCode,
  ScrollText,
  Settings2,
  ShieldAlert,
  Webhook,
} from 'lucide-react'
import type { Mode } from '#lib/core/mode.ts'
import { hasPermissionNow } from '#lib/people/roles.ts'
import type { SessionAccount, SessionUser } from '#lib/session/schema.ts'

type NavName =
  | 'home'
  | 'charges'
  | 'new'
  | 'withdrawals'
  | 'statement'
  | 'webhooks'
  | 'requests'
  | 'tokens'
  | 'bank'
  | 'disputes'
  | 'settings'
  | 'accounts'

export interface NavEntry {
  name: NavName
  href: string
  icon: LucideIcon
  excludedPath?: string
}

interface NavEntries {
  main: NavEntry[]
  more: NavEntry[]
  /** Entries in the bottom bar on phones. The last button of the bar opens the rest. */
  phone: NavEntry[]
}

/** Returns the entries that a user may open, in the order of the rail. */
export function navEntriesOf(
  user: SessionUser,
  account: SessionAccount | null,
  mode: Mode,
): NavEntries {
  const basePath = `/${mode}`
  const home: NavEntry = { name: 'home', href: `${basePath}/home`, icon: House }
  const newCharge = `${basePath}/charges/new`
  const charges: NavEntry = {
    name: 'charges',
    href: `${basePath}/charges`,
    icon: QrCode,
    excludedPath: newCharge,
  }
  const withdrawals: NavEntry = {
    name: 'withdrawals',
    href: `${basePath}/withdrawals`,
    icon: ArrowUpRight,
  }
  const admin: NavEntry[] = user.isAdmin
    ? [{ name: 'accounts', href: '/admin', icon: Building2 }]
    : []
  if (!account) {
    const main = user.isAdmin ? admin : [home]
    return { main, more: [], phone: main }
  }
  const tokens = `${basePath}/settings/tokens`
  const receives = mode === 'test' || account.receivingConnectionId !== null
  const create: NavEntry[] = hasPermissionNow({ ...account, receives }, 'transactions:write')
    ? [{ name: 'new', href: newCharge, icon: Plus }]
    : []
  return {
    main: [
      home,
      { ...charges, excludedPath: undefined },
      withdrawals,
      { name: 'statement', href: `${basePath}/statement`, icon: ScrollText },
      { name: 'webhooks', href: `${basePath}/webhooks`, icon: Webhook },
      { name: 'requests', href: `${basePath}/requests`, icon: ArrowLeftRight },
      ...admin,
    ],
    more: [
      { name: 'tokens', href: tokens, icon: KeyRound },
      // The simulated bank reports no disputes.
      mode === 'test'
        ? { name: 'bank', href: '/test/bank', icon: Landmark }
        : { name: 'disputes', href: '/live/disputes', icon: ShieldAlert },
      { name: 'settings', href: `${basePath}/settings`, icon: Settings2, excludedPath: tokens },
    ],
    phone: [home, charges, ...create, withdrawals],
  }
}
