import type { Page } from 'playwright/test'
import { expect } from '#e2e/browser/app.ts'
import { fill } from '#e2e/browser/extreme-forms.ts'
import { NAME, REFERENCE } from '#e2e/browser/extreme-shop.ts'
import { say } from '#e2e/browser/extremes.ts'
import { openAccountMenu } from '#e2e/browser/layout.ts'
import { generateTotp } from '#lib/testing/totp.ts'

/** `open` brings the page at the path to the dialog. */
export type Dialog = [name: string, path: string, open: (page: Page) => Promise<unknown>]

/** Presses the first visible button whose name begins with a message, in the open dialog if there is one. */
export async function press(page: Page, key: string): Promise<void> {
  const dialog = page.getByRole('dialog').filter({ visible: true })
  const place = (await dialog.count()) > 0 ? dialog : page.getByRole('main')
  await place
    .getByRole('button', { name: RegExp(`^${say(key)}`) })
    .filter({ visible: true })
    .first()
    .click()
}

const pressing =
  (...keys: string[]) =>
  async (page: Page) => {
    for (const key of keys) await press(page, key)
  }

/** Chooses from the menu of a filter. */
const choosing = (filter: string, choice: string) => async (page: Page) => {
  await press(page, filter)
  await page.getByRole('menuitemradio', { name: say(choice), exact: true }).click()
}

async function openPalette(page: Page): Promise<void> {
  await expect(async () => {
    await page.keyboard.press('Control+k')
    await expect(page.getByRole('dialog').getByRole('combobox')).toBeVisible({ timeout: 2_000 })
  }).toPass({ timeout: 30_000 })
}

async function search(page: Page, text: string): Promise<void> {
  await openPalette(page)
  await page.getByRole('dialog').getByRole('combobox').fill(text)
  await expect(page.getByRole('option').first()).toBeVisible()
}

async function setUpApp(page: Page): Promise<void> {
  await press(page, 'factor.app.begin')
  await expect(page.getByTestId('app-secret')).toBeVisible()
}

async function confirmApp(page: Page): Promise<void> {
  await setUpApp(page)
  const secret = (await page.getByTestId('app-secret').textContent()) ?? ''
  await fill(page, 'code', generateTotp(secret))
  await press(page, 'factor.app.confirm')
  await expect(page.getByTestId('recovery-codes')).toBeVisible()
}

async function createToken(page: Page): Promise<void> {
  await fill(page, 'name', NAME)
  await press(page, 'tokens.create')
  await expect(page.getByTestId('token-value')).toBeVisible()
}

export async function sendInvitation(page: Page): Promise<void> {
  await press(page, 'members.invite')
  await fill(page, 'email', `${'financeiro'.repeat(6)}@${'filial'.repeat(10)}.troco.example`)
  await press(page, 'members.send')
}

async function invite(page: Page): Promise<void> {
  await sendInvitation(page)
  await expect(page.getByTestId('invitation-link')).toBeVisible()
}

async function askForProof(page: Page): Promise<void> {
  const refusal = { status: 403, headers: { 'x-error-code': 'proof_required' }, json: {} }
  await page.route('**/api/person/authenticator', route => route.fulfill(refusal), { times: 1 })
  await press(page, 'factor.app.begin')
}

/** Opens an action of the staff, gives a reason and confirms. */
export const acting = (key: string) => async (page: Page) => {
  await press(page, key)
  await fill(page, 'reason', REFERENCE.slice(0, 200))
  await press(page, key)
}

async function activateSelected(page: Page): Promise<void> {
  await page
    .getByRole('checkbox', { name: RegExp(`^${say('accountSelection.one')}`) })
    .filter({ visible: true })
    .first()
    .check()
  await acting('accountSelection.activate')(page)
  await expect(page.getByRole('dialog', { name: say('accountSelection.results') })).toBeVisible()
}

async function proposeEnd(page: Page): Promise<void> {
  await press(page, 'ending.propose')
  await fill(page, 'reason', REFERENCE.slice(0, 200))
}

async function resendFailed(page: Page): Promise<void> {
  const button = page.getByRole('main').getByRole('button')
  await button.filter({ hasText: /^(Reenviar|Resend) / }).click()
}

const memberRow = (page: Page) => page.getByTestId('member-row').filter({ hasText: NAME })
const tokenRow = (page: Page) => page.getByTestId('token-row').filter({ hasText: NAME })
const pressIn = (row: (page: Page) => ReturnType<typeof memberRow>, key: string) => (page: Page) =>
  row(page)
    .getByRole('button', { name: say(key) })
    .first()
    .click()

export const MEMBER_DIALOGS: Dialog[] = [
  ['the palette', '/test/home', openPalette],
  ['the palette with what was found', '/test/home', page => search(page, REFERENCE.slice(0, 200))],
  ['the account menu', '/test/home', openAccountMenu],
  ['choosing a month', '/test/charges', choosing('period.label', 'period.month')],
  ['choosing days', '/test/charges', choosing('period.label', 'period.custom')],
  ['filtering by amount', '/test/charges', pressing('charges.amount')],
  ['sharing a charge', '/test/charges/:open', pressing('share.action')],
  ['cancelling a charge', '/test/charges/:open', pressing('cancel.action')],
  ['describing a charge', '/test/charges/:open', pressing('description.add')],
  ['refunding a charge', '/test/charges/:paid', pressing('refund.action')],
  ['disputing a payment', '/test/charges/:paid', pressing('simulate.decision.dispute')],
  ['sharing a receipt', '/test/charges/:paid', pressing('share.receiptAction')],
  ['sending back a withdrawal', '/test/withdrawals/:payout', pressing('simulate.decision.return')],
  ['inviting a member', '/test/settings/members', pressing('members.invite')],
  ['an invitation', '/test/settings/members', invite],
  ['changing a role', '/test/settings/members', pressIn(memberRow, 'members.changeRole')],
  ['removing a member', '/test/settings/members', pressIn(memberRow, 'members.remove')],
  ['leaving the account', '/test/settings/members', pressing('members.leave')],
  ['revoking a token', '/test/settings/tokens', pressIn(tokenRow, 'tokens.revoke')],
  ['rotating a token', '/test/settings/tokens', pressIn(tokenRow, 'tokens.rotate')],
  ['addresses of a token', '/test/settings/tokens', pressIn(tokenRow, 'tokens.addresses.edit')],
  ['a new token', '/test/settings/tokens/new', createToken],
  ['adding a passkey', '/test/settings/security', pressing('factor.passkey.add')],
  ['new recovery codes', '/test/settings/security', pressing('factor.codes.renew')],
  ['removing an app', '/test/settings/security', pressing('factor.app.remove')],
  ['disabling an endpoint', '/test/webhooks/endpoints/:endpoint', pressing('endpoints.disable')],
  ['deleting an endpoint', '/test/webhooks/endpoints/:endpoint', pressing('endpoints.delete')],
  ['rotating a secret', '/test/webhooks/endpoints/:endpoint', pressing('endpoints.rotate')],
  ['filters of the audit log', '/test/settings/audit', pressing('audit.more')],
  [
    'an audited action',
    '/test/settings/audit',
    page => page.getByRole('table').getByRole('button').first().click(),
  ],
  ['an open filter', '/test/charges', pressing('period.label')],
  ['confirming a token', '/test/settings/tokens', pressIn(tokenRow, 'tokens.adopt')],
  ['resending a delivery', '/test/webhooks/deliveries/:delivered', pressing('deliveries.resend')],
  ['resending failed deliveries', '/test/webhooks?status=exhausted', resendFailed],
]
export const FOUNDER_DIALOGS: Dialog[] = [
  ['the only owner who leaves', '/test/settings/members', pressing('members.leave')],
]
export const ADMIN_DIALOGS: Dialog[] = [
  ['the palette of the staff', '/admin', page => search(page, NAME)],
  ['inviting a merchant', '/admin/accounts', pressing('inviteMerchant.invite')],
  ['viewing as a merchant', '/admin/accounts/:account', pressing('viewing.begin')],
  ['suspending an account', '/admin/accounts/:account', pressing('adminAccount.suspend')],
  ['revoking all tokens', '/admin/accounts/:account', pressing('adminTokens.revokeAll')],
  ['revoking a token', '/admin/tokens?q=:account', pressing('adminTokens.revoke')],
  ['sending a password link', '/admin/people/:person', pressing('adminPeople.reset.password')],
  ['closing a bank', '/admin/banks/:bank', pressing('banks.close.run')],
  ['accounts that were activated', '/admin/accounts?q=:account', activateSelected],
  ['ending a withdrawal', '/admin/accounts/:silent?charge=:unanswered', proposeEnd],
  ['answering a dispute', '/admin/disputes/:account/:dispute', pressing('disputes.send')],
  ['filters of the audit log', '/admin/audit', pressing('audit.more')],
  ['a proof of identity', '/test/settings/security', askForProof],
  ['setting up an app', '/test/settings/security', setUpApp],
  // The last one: afterwards the app is set up.
  ['recovery codes', '/test/settings/security', confirmApp],
]
