import { afterAll, beforeAll, expect, test } from 'vitest'
import { credentialsAt, type IdentityForm, openAt } from '#e2e/banks/open.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'

let bank: RunningBank
beforeAll(async () => {
  bank = await startBank()
})
afterAll(() => bank.stop())

const FORMS: IdentityForm[] = ['pem', 'p12', 'p12-with-passphrase']

test.each(FORMS)('a connection whose identity is %s is served', async form => {
  const credentials = JSON.stringify(credentialsAt(bank, form))
  const { gateway } = await openAt(bank, { credentials })
  const health = await gateway.checkHealth(AbortSignal.timeout(10_000))
  expect(health).toEqual({ outcome: 'ok', value: null })
})
