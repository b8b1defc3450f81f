import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { credentialsAt, openAt } from '#e2e/banks/open.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import { closeConnection, warnOfCertificates } from '#lib/accounts/connections.ts'
import { renewCredentials } from '#lib/banks/connections.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { examineCertificates } from '#lib/operator/gateways.ts'
import { makeCertificate } from '#lib/testing/certificate.ts'
import { inOwnDatabase, runAsOwner } from '#lib/testing/fixtures.ts'
import { readMails } from '#lib/testing/mailbox.ts'
import { signInAdmin } from '#lib/testing/member.ts'

// Every open connection of the database is warned of.
inOwnDatabase()

const ACTOR = { type: 'command_line' } as const
const DAY_MS = 86_400_000

let bank: RunningBank
beforeAll(async () => {
  bank = await startBank()
  await signInAdmin()
  await signInAdmin()
  const email = `former-${newId()}@troco.example`
  const data = { id: newId(), email, name: email, isAdmin: true, disabledAt: new Date() }
  await db().user.create({ data })
})
afterAll(() => bank.stop())
beforeEach(() => db().mail.deleteMany())

/** Opens a connection whose certificate ends at a time of whole seconds, as certificates do. */
async function openWith(endsAt: Date, name = `Banco ${newId()}`) {
  const { cert, key } = makeCertificate(['client.example'], endsAt)
  const identity = { client_id: 'x', certificate: cert, private_key: key }
  return openAt(bank, { name, credentials: JSON.stringify(identity) })
}

const inDays = (days: number) => new Date(Math.floor((Date.now() + days * DAY_MS) / 1_000) * 1_000)

test('all admins are mailed once 30, 7 and 1 days before a certificate ends, whoever runs the job', async () => {
  const endsAt = inDays(60)
  const { id } = await openWith(endsAt, 'Banco Azul')
  const warnAt = (days: number) => warnOfCertificates(endsAt.getTime() - days * DAY_MS)
  const counts: number[] = []
  for (const days of [31, 30, 29, 8, 7, 6, 2, 1, 0.5, 0, -1]) {
    const runs = await Promise.all([warnAt(days), warnAt(days), warnAt(days)])
    counts.push(runs.reduce((sum, each) => sum + each, 0))
  }
  expect(counts).toEqual([0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0])
  const mails = await readMails()
  // Three warnings to two admins; the third admin may no longer sign in.
  expect(mails).toHaveLength(6)
  expect(new Set(mails.map(({ to }) => to)).size).toBe(2)
  for (const { subject, text } of mails) {
    expect(subject).toContain('Banco Azul')
    expect(text).toContain(`/admin/banks/${id}`)
  }
})

test('a run after days without one sends the most urgent warning only', async () => {
  const endsAt = inDays(60)
  await openWith(endsAt)
  expect(await warnOfCertificates(endsAt.getTime() - 0.5 * DAY_MS)).toBe(1)
  expect(await warnOfCertificates(endsAt.getTime() - 20 * DAY_MS)).toBe(0)
})

test('a warning whose mails cannot be queued stays due', async () => {
  const { id } = await openWith(inDays(20))
  await runAsOwner('ALTER TABLE mails RENAME TO mails_away')
  await expect(warnOfCertificates()).rejects.toThrow()
  await runAsOwner('ALTER TABLE mails_away RENAME TO mails')
  const row = await db().connection.findUniqueOrThrow({ where: { id } })
  expect(row.certificateWarnedDays).toBeNull()
  expect(await warnOfCertificates()).toBe(1)
})

test('a renewed certificate is warned of anew, a closed connection is not', async () => {
  const endsAt = inDays(5)
  const { id } = await openWith(endsAt)
  expect(await warnOfCertificates()).toBe(1)
  expect(await warnOfCertificates()).toBe(0)
  // The certificates of the test bank end after a day.
  const renewed = await renewCredentials(id, JSON.stringify(credentialsAt(bank)), ACTOR)
  expect(renewed.code).toBe('ok')
  // A process learns of new credentials within seconds.
  await expect.poll(() => warnOfCertificates(), { timeout: 20_000 }).toBe(1)
  const { certificateEndsAt } = await gatewayOfConnection(id)
  const row = await db().connection.findUniqueOrThrow({ where: { id } })
  expect(row.certificateWarnedUntil).toEqual(certificateEndsAt)
  await closeConnection(id, ACTOR)
  expect(await warnOfCertificates((certificateEndsAt?.getTime() ?? 0) - 1_000)).toBe(0)
})

test('the health page warns of it 30 days before, and reports it as a problem once it has ended', async () => {
  const endsAt = inDays(60)
  await openWith(endsAt, 'Banco Verde')
  const examine = async (days: number) =>
    (await examineCertificates(endsAt.getTime() - days * DAY_MS)).filter(
      ({ figures }) => figures.name === 'Banco Verde',
    )
  expect(await examine(31)).toEqual([])
  expect(await examine(30)).toMatchObject([
    {
      level: 'warning',
      state: 'certificate_ends',
      figures: { left_s: 30 * 86_400 },
      subjects: [{ kind: 'bank' }],
    },
  ])
  expect(await examine(-1)).toMatchObject([
    { level: 'problem', state: 'certificate_ended', figures: { since_s: 86_400 } },
  ])
})
