import { beforeEach, expect, test } from 'vitest'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { unseal } from '#lib/core/keys.ts'
import { db } from '#lib/db/client.ts'
import type { Mail } from '#lib/mail/queue.ts'
import { fundMerchant, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { VERIFIED } from '#lib/testing/verified.ts'
import { mailApprovers } from '#lib/withdrawals/approval.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

inOwnDatabase()

let merchant: Account
let owner: string
beforeEach(async () => {
  await db().mail.deleteMany()
  merchant = await makeMerchant('Padaria')
  await fundMerchant(merchant, 100_000)
  const { id: accountId } = merchant
  owner = (await db().membership.findFirstOrThrow({ where: { accountId } })).userId
  await addMember('finance', 'Bia', 'en')
  await addMember('developer', 'Davi', null)
})

async function addMember(role: Role, name: string, locale: string | null): Promise<void> {
  const id = newId()
  const email = `${name.toLowerCase()}-${id}@example.com`
  await db().user.create({ data: { id, name, locale, email, ...VERIFIED } })
  await db().membership.create({ data: { accountId: merchant.id, userId: id, role } })
}

const request = (requestedBy: string | null) => {
  const key = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
  return createWithdrawal(merchant.id, 'test', { amount: 123_45, ...key, requestedBy })
}

async function readMails(): Promise<Mail[]> {
  const rows = await db().mail.findMany({ orderBy: { id: 'asc' } })
  return rows.map(({ id, sealed }) => JSON.parse(unseal(sealed, id, 'mails')) as Mail)
}

test('a mail goes once to each member who may approve, in their language', async () => {
  const { id } = await request(owner)
  expect(await Promise.all([mailApprovers(), mailApprovers()])).toContain(1)
  expect(await mailApprovers()).toBe(0)
  const mails = await readMails()
  expect(mails.map(({ to }) => to.split('-')[0])).toEqual(['bia'])
  expect(mails[0]?.subject).toBe('[Test] A withdrawal from “Padaria” needs your approval')
  expect(mails[0]?.text).toContain('R$ 123.45')
  expect(mails[0]?.text).toContain(`/test/withdrawals/${id}`)
})

test('a burst is one mail each; for a token of the operator, both may approve', async () => {
  await Promise.all([request(null), request(null), request(null)])
  expect(await mailApprovers()).toBe(2)
  const subjects = (await readMails()).map(({ subject }) => subject)
  expect(subjects.toSorted()).toEqual([
    '[Test] 3 withdrawals from “Padaria” need approval',
    '[Teste] 3 saques de “Padaria” precisam de aprovação',
  ])
})

test('the mail about a withdrawal of an operator token names the administrator', async () => {
  await request(null)
  await mailApprovers()
  const texts = (await readMails()).map(({ text }) => text).join()
  expect(texts).toContain('Solicitado por: o administrador,')
  expect(texts).toContain('Requested by: the administrator,')
})

test('a withdrawal that does not wait causes no mail', async () => {
  await db().account.update({ where: { id: merchant.id }, data: { approvalNewKeys: false } })
  await request(owner)
  expect(await mailApprovers()).toBe(0)
})
