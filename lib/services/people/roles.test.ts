import { expect, test } from 'vitest'
import {
  isAllowedInactive,
  isForPagesOnly,
  isWriteAllowedInactive,
  MAY,
  mayNow,
  needsOpenMode,
  PAGE_PERMISSIONS,
  PERMISSIONS,
  permissionsOf,
} from '#lib/services/people/roles.ts'

test('in an account that is not active nothing is written, but members may leave', () => {
  const all = Object.keys(MAY) as (keyof typeof MAY)[]
  expect(all.filter(isWriteAllowedInactive)).toEqual(['members:leave'])
})

test('everything that can be allowed stands in the table, and nothing else', () => {
  expect(Object.keys(MAY).sort()).toEqual([...PERMISSIONS, ...PAGE_PERMISSIONS].sort())
})

test('an owner may do everything, and a viewer read all but who did what, and change nothing but themselves', () => {
  const all = Object.keys(MAY)
  expect(permissionsOf('owner')).toEqual(all)
  expect(permissionsOf('viewer')).toEqual(
    all.filter(
      name =>
        (name.endsWith(':read') && name !== 'audit:read') ||
        ['profile:write', 'members:leave'].includes(name),
    ),
  )
})

test('who builds moves no money, and who moves money builds nothing', () => {
  const money = ['withdrawals:write', 'refunds:write']
  const build = ['tokens:write', 'webhooks:write']
  expect(permissionsOf('finance')).toEqual(expect.arrayContaining(money))
  expect(permissionsOf('developer')).toEqual(expect.arrayContaining(build))
  for (const name of money) expect(permissionsOf('developer')).not.toContain(name)
  for (const name of build) expect(permissionsOf('finance')).not.toContain(name)
})

test('in an account that is not active nothing is offered but reading and leaving', () => {
  const owner = { role: 'owner', status: 'suspended' } as const
  expect(mayNow(owner, 'transactions:read')).toBe(true)
  expect(mayNow(owner, 'transactions:write')).toBe(false)
  expect(mayNow({ ...owner, status: 'active' }, 'transactions:write')).toBe(true)
  expect(mayNow(owner, 'members:write')).toBe(false)
  expect(mayNow(owner, 'members:leave')).toBe(true)
})

test('what is allowed in an inactive account takes no open mode, so that one table answers both', () => {
  const names = [...PERMISSIONS, ...PAGE_PERMISSIONS]
  expect(names.filter(isAllowedInactive)).toEqual(
    names.filter(name => name.endsWith(':read') || name === 'members:leave'),
  )
  expect(names.filter(name => isAllowedInactive(name) && needsOpenMode(name))).toEqual([])
  expect(names.filter(isForPagesOnly)).toEqual([...PAGE_PERMISSIONS])
})
