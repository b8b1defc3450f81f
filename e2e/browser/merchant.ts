import type { BrowserContext, Page } from 'playwright/test'
import { openCommandRuntime } from '#bin/runtime.ts'
import { readSetting } from '#e2e/browser/app.ts'
import { createAccount } from '#lib/accounts/create.ts'
import { findAccount } from '#lib/accounts/queries.ts'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { payWelcomeCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { hashPassword } from '#lib/people/password.ts'
import { openSession } from '#lib/people/sessions.ts'
import { openAccountWithOwner, SINCE_LONG, VERIFIED } from '#lib/testing/verified.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

export interface Shop extends Account {
  /** API token in test mode. */
  token: string
}

const ACTOR = { type: 'system' } as const

/** Creates a merchant with the welcome charge and signs its owner in. */
export async function openShop(context: BrowserContext, name = 'Padaria do Teste'): Promise<Shop> {
  const shop = await createShop(name)
  const owner = await db().membership.findFirstOrThrow({
    where: { accountId: shop.id },
    include: { user: true },
  })
  await signInAs(context, owner.user.email)
  return shop
}

export async function createShop(name: string): Promise<Shop> {
  await connectToApplication()
  const account = await openAccountWithOwner(name)
  await payWelcomeCharge(account)
  const tokenOptions = { accountId: account.id, mode: 'test' as const, name: 'Loja virtual' }
  const { token } = await issueToken({ ...tokenOptions, permissions: [...PERMISSIONS] }, ACTOR)
  return { ...account, token }
}

/** Creates a merchant as `account create` does: the owner has not proven the e-mail. */
export async function createPendingOwner(name: string) {
  await connectToApplication()
  const [email, password] = [`owner-${newId()}@troco.example`, 'four words nobody expects']
  const ownerPasswordHash = await hashPassword(password)
  const account = await createAccount({ name, ownerEmail: email, ownerPasswordHash }, ACTOR)
  await payWelcomeCharge(account)
  return { email, password }
}

interface SessionOptions {
  accountId?: string
  role?: Role
  isAdmin?: boolean
}

/** Creates a user (with a role in an account, as staff or neither) and opens a session. */
export async function createSession({
  accountId,
  role,
  isAdmin = false,
}: SessionOptions): Promise<string> {
  await connectToApplication()
  const email = `somebody-${newId()}@troco.example`
  const user = await db().user.create({
    data: { id: newId(), email, name: email, isAdmin, ...SINCE_LONG, ...VERIFIED },
  })
  if (accountId && role)
    await db().membership.create({ data: { accountId, userId: user.id, role } })
  return openSession(user.id, { ip: '203.0.113.9', userAgent: 'a browser' })
}

export async function findShopAccount(email: string): Promise<Account> {
  await connectToApplication()
  return findAccount(email)
}

let runtime: Promise<unknown> | null = null

/** Connects to the database of the application under test, with its keys. */
export function connectToApplication(): Promise<unknown> {
  supplyEnv({ TROCO_DATA: readSetting('TROCO_DATA'), TROCO_ENV: 'local' })
  runtime ??= openCommandRuntime()
  return runtime
}

/** Adds the session cookie; the sign-in form has tests of its own. */
export async function signInAs(context: BrowserContext, email: string): Promise<void> {
  const user = await db().user.findUniqueOrThrow({ where: { email } })
  await addSession(
    context,
    await openSession(user.id, { ip: '203.0.113.9', userAgent: 'a browser' }),
  )
}

/** Opens a browser session of an admin beside that of the page, with windows of its size. */
export async function openAdmin(page: Page, locale = 'en-US'): Promise<Page> {
  const context = await page
    .context()
    .browser()
    ?.newContext({
      locale,
      viewport: page.viewportSize(),
      baseURL: readSetting('BASE_URL'),
    })
  if (!context) throw new Error('There is no browser')
  await addSession(context, await createSession({ isAdmin: true }))
  return context.newPage()
}

export async function addSession(context: BrowserContext, value: string): Promise<void> {
  await context.addCookies([
    { name: 'troco-session', value, url: readSetting('BASE_URL'), httpOnly: true, sameSite: 'Lax' },
  ])
}

/** Leaves the open pages first: their next request would be refused. */
export async function signOut(context: BrowserContext): Promise<void> {
  await Promise.all(context.pages().map(page => page.goto('about:blank')))
  await context.clearCookies()
}
