import { readFileSync } from 'node:fs'
import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { signInAs, signOut } from '#e2e/browser/merchant.ts'
import { openPerson } from '#e2e/browser/person.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { beginAuthenticator, confirmAuthenticator } from '#lib/people/factors.ts'
import { hashPassword } from '#lib/people/password.ts'
import { openSessionId } from '#lib/testing/member.ts'
import { generateTotp } from '#lib/testing/totp.ts'
import { SINCE_LONG, VERIFIED } from '#lib/testing/verified.ts'

const PASSWORD = 'four words of the staff'
const REASON = 'lost phone, called back'

// The first request asks for a proof of identity.
test.use({ locale: 'en-US', viewport: { width: 1280, height: 860 }, expectedStatuses: [403] })

test('an admin removes a person’s second factor by a proof of identity and a reason, which is mailed', {
  tag: '@torture',
}, async ({ page, context }) => {
  const { id, email } = await openPerson(context)
  const person = { id, email, name: email, locale: 'en', sessionId: await openSessionId(id) }
  const { secret } = await beginAuthenticator(person)
  await confirmAuthenticator(person, generateTotp(secret))
  await signOut(context)
  const admin = { id: newId(), email: `staff-${newId()}@troco.example`, name: 'Rita' }
  const passwordHash = await hashPassword(PASSWORD)
  await db().user.create({
    data: { ...admin, passwordHash, isAdmin: true, ...SINCE_LONG, ...VERIFIED },
  })
  await signInAs(context, admin.email)
  // The application under test runs without HTTPS, where only live mode asks for a proof.
  await page.route(
    '**/second-factor',
    route =>
      route.fulfill({ status: 403, headers: { 'x-error-code': 'proof_required' }, json: {} }),
    { times: 1 },
  )

  await page.goto(`/admin/people/${id}`)
  await page.getByRole('button', { name: 'Remove two-factor authentication' }).click()
  const dialog = page.getByRole('dialog', { name: /two-factor authentication\?$/ })
  await dialog.getByLabel('Reason').fill(REASON)
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Remove two-factor authentication' }).click()
  const proof = page.getByRole('dialog', { name: 'Confirm it’s you' })
  await proof.getByLabel('Password').fill(PASSWORD)
  expect(
    await db().authenticator.count({ where: { userId: id, confirmedAt: { not: null } } }),
  ).toBe(1)
  await proof.getByRole('button', { name: 'Confirm' }).click()
  await expect(
    page.getByText(`Two-factor authentication removed. ${email} was notified.`),
  ).toBeVisible()
  await expect(page.getByText('No two-factor authentication')).toBeVisible()
  expect(await db().authenticator.count({ where: { userId: id } })).toBe(0)
  // The application under test logs its mails.
  const mails = () =>
    readFileSync(readSetting('LOG'), 'utf8')
      .split('\n')
      .filter(line => line.includes(`"to":"${email}"`))
  await expect.poll(() => mails().some(line => line.includes(REASON))).toBe(true)
})
