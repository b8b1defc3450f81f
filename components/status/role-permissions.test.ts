import { expect, test } from 'vitest'
import { DEEDS } from '#components/status/role-permissions.ts'
import { ROLES } from '#lib/rooms/accounts/schema.ts'
import { type Allowed, MAY } from '#lib/services/people/roles.ts'

test('every permission that some roles lack is in the table shown where roles are chosen', () => {
  const shown: Allowed[] = DEEDS.map(({ needs }) => needs)
  const names = Object.keys(MAY) as Allowed[]
  const special = names.filter(name => MAY[name].length < ROLES.length)
  expect(special.filter(name => !shown.includes(name))).toEqual([])
})
