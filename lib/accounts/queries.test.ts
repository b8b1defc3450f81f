import { expect, test } from 'vitest'
import { createAccount } from '#lib/accounts/create.ts'
import { findAccount, listAccounts } from '#lib/accounts/queries.ts'
import { newId } from '#lib/core/ids.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'

const ACTOR = { type: 'system' } as const

test("an account is found by id or by its owner's e-mail in any letter case", async () => {
  const ownerEmail = `ana-${newId()}@troco.example`
  const account = await createAccount({ name: 'Padaria', ownerEmail }, ACTOR)
  expect(await findAccount(account.id)).toMatchObject({ id: account.id, name: 'Padaria' })
  expect((await findAccount(ownerEmail)).id).toBe(account.id)
  expect((await findAccount(ownerEmail.toUpperCase())).id).toBe(account.id)
})

test('an unknown or ambiguous account is refused with a message that says what to do', async () => {
  const ownerEmail = `rui-${newId()}@troco.example`
  for (const unknown of [newId(), ownerEmail, 'no e-mail', '']) {
    await expect(findAccount(unknown)).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('account list'),
    })
  }
  await createAccount({ name: 'Uma', ownerEmail }, ACTOR)
  await createAccount({ name: 'Outra', ownerEmail }, ACTOR)
  await expect(findAccount(ownerEmail)).rejects.toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('several accounts'),
  })
})

test('the list has every account with its owner, oldest first', async () => {
  const first = await makeMerchant()
  const second = await makeMerchant()
  const list = await listAccounts()
  const ids = list.map(account => account.id)
  expect(ids).toEqual(ids.toSorted())
  expect(ids.indexOf(first.id)).toBeLessThan(ids.indexOf(second.id))
  expect(list.find(account => account.id === first.id)?.ownerEmail).toMatch(/^owner-/)
})
