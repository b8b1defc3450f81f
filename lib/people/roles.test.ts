import { expect, test } from 'vitest'
import {
  DEFAULT_PERMISSIONS,
  hasPermissionNow,
  isAllowedInactive,
  isForPagesOnly,
  isWriteAllowedInactive,
  listPermissions,
  needsOpenMode,
  PAGE_PERMISSIONS,
  PERMISSIONS,
  ROLES_BY_PERMISSION,
} from '#lib/people/roles.ts'

test('in an inactive account the only allowed write is leaving it', () => {
  const all = Object.keys(ROLES_BY_PERMISSION) as (keyof typeof ROLES_BY_PERMISSION)[]
  expect(all.filter(isWriteAllowedInactive)).toEqual(['members:leave'])
})

test('a new token reads no statement and changes no webhooks or tokens unless asked', () => {
  expect(DEFAULT_PERMISSIONS).toEqual([
    'account:read',
    'transactions:read',
    'transactions:write',
    'refunds:write',
    'withdrawals:read',
    'withdrawals:write',
    'events:read',
    'payers:read',
    'requests:read',
  ])
})

test('the table contains every permission and nothing else', () => {
  expect(Object.keys(ROLES_BY_PERMISSION).sort()).toEqual(
    [...PERMISSIONS, ...PAGE_PERMISSIONS].sort(),
  )
})

test('an owner has all permissions; a viewer reads all but the audit log and documents, and can leave', () => {
  const all = Object.keys(ROLES_BY_PERMISSION)
  expect(listPermissions('owner')).toEqual(all)
  expect(listPermissions('viewer')).toEqual(
    all.filter(
      name =>
        (name.endsWith(':read') && name !== 'audit:read' && name !== 'payers:read') ||
        ['profile:write', 'members:leave'].includes(name),
    ),
  )
})

test('developers cannot move money, and finance cannot change tokens or webhooks', () => {
  const moneyPermissions = ['withdrawals:write', 'refunds:write']
  const developerPermissions = ['tokens:write', 'webhooks:write']
  expect(listPermissions('finance')).toEqual(expect.arrayContaining(moneyPermissions))
  expect(listPermissions('developer')).toEqual(expect.arrayContaining(developerPermissions))
  for (const name of moneyPermissions) expect(listPermissions('developer')).not.toContain(name)
  for (const name of developerPermissions) expect(listPermissions('finance')).not.toContain(name)
})

test('who may read documents through tokens and endpoints may also reveal them, and nobody else', () => {
  expect(ROLES_BY_PERMISSION['payers:read']).toEqual(ROLES_BY_PERMISSION['documents:reveal'])
})

test('only an owner or finance holds a permission that moves money', () => {
  for (const name of ['withdrawals:write', 'refunds:write'] as const)
    expect(ROLES_BY_PERMISSION[name]).toEqual(['owner', 'finance'])
})

test('in an inactive account only reading and leaving are offered', () => {
  const owner = { role: 'owner', status: 'suspended' } as const
  expect(hasPermissionNow(owner, 'transactions:read')).toBe(true)
  expect(hasPermissionNow(owner, 'transactions:write')).toBe(false)
  expect(hasPermissionNow({ ...owner, status: 'active' }, 'transactions:write')).toBe(true)
  expect(hasPermissionNow(owner, 'members:write')).toBe(false)
  expect(hasPermissionNow(owner, 'members:leave')).toBe(true)
})

test('an account is offered only what it has a connection for', () => {
  const owner = { role: 'owner', status: 'active' } as const
  const offered = (member: object) =>
    (['transactions:write', 'withdrawals:write', 'refunds:write'] as const).filter(permission =>
      hasPermissionNow({ ...owner, ...member }, permission),
    )
  expect(offered({ receives: false })).toEqual(['withdrawals:write', 'refunds:write'])
  expect(offered({ paysOut: false })).toEqual(['transactions:write', 'refunds:write'])
})

test('permissions allowed in an inactive account never need an open mode', () => {
  const names = [...PERMISSIONS, ...PAGE_PERMISSIONS]
  expect(names.filter(isAllowedInactive)).toEqual(
    names.filter(name => name.endsWith(':read') || name === 'members:leave'),
  )
  expect(names.filter(name => isAllowedInactive(name) && needsOpenMode(name))).toEqual([])
  expect(names.filter(isForPagesOnly)).toEqual([...PAGE_PERMISSIONS])
})
