import { createAddressCheck } from '#lib/base/addresses.ts'
import type { CallerRow } from '#lib/rooms/tokens/caller-row.ts'
import { connectionIn } from '#lib/services/gateway/served.ts'
import { isActiveAccount } from '#lib/services/people/roles.ts'

export interface TokenCaller
  extends Pick<CallerRow, 'mode' | 'permissions' | 'issuedBy' | 'formerIssuers'> {
  /** Returns whether the token may be used from this address. */
  isAllowedFrom: (address: string) => boolean
  account: {
    id: string
    name: string
    city: string
    expiresIn: number
    isActive: boolean
    receivingConnectionId: string | null
    payingConnectionId: string | null
  }
}

export function toCaller(caller: CallerRow): TokenCaller {
  const { mode, permissions, accountId, status, issuedBy, formerIssuers, ...rest } = caller
  const { allowedAddresses, parentId: _, parentAddresses, ...row } = rest
  const checks = [allowedAddresses, parentAddresses ?? []].map(createAddressCheck)
  return {
    ...{ mode, permissions, issuedBy, formerIssuers },
    isAllowedFrom: address => checks.every(isAllowed => isAllowed(address)),
    account: {
      ...{ ...row, id: accountId, isActive: isActiveAccount(status) },
      receivingConnectionId: connectionIn(mode, row.receivingConnectionId),
      payingConnectionId: connectionIn(mode, row.payingConnectionId),
    },
  }
}
