import { connectionIn } from '#lib/banks/served.ts'
import { createAddressCheck } from '#lib/core/addresses.ts'
import { isActiveAccount } from '#lib/people/roles.ts'
import type { CallerRow } from '#lib/tokens/caller-row.ts'

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
