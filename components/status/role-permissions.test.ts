import { expect, test } from 'vitest'
import { ROLE_ACTIONS } from '#components/status/role-permissions.ts'
import { ROLES } from '#lib/accounts/schema.ts'
import { type AnyPermission, ROLES_BY_PERMISSION } from '#lib/people/roles.ts'

test('every permission that some roles lack is a row of the roles table', () => {
  const shown: AnyPermission[] = ROLE_ACTIONS.map(({ needs }) => needs)
  const names = Object.keys(ROLES_BY_PERMISSION) as AnyPermission[]
  const special = names.filter(name => ROLES_BY_PERMISSION[name].length < ROLES.length)
  expect(special.filter(name => !shown.includes(name))).toEqual([])
})
