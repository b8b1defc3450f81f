import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { env, inheritedEnv, supplyEnv } from '#lib/core/settings.ts'
import { db, transaction } from '#lib/db/client.ts'
import { type Message, queueMail, sendDueMails } from '#lib/mail/queue.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'
import { followLog } from '#lib/testing/log-tail.ts'
import { openMailServer } from '#lib/testing/mail-server.ts'

inOwnDatabase()

const ANA = { email: 'ana@padaria.example', locale: 'pt-BR' }
const RESET: Message = { kind: 'passwordReset', path: '/reset/a-secret' }

let server: Awaited<ReturnType<typeof openMailServer>>
beforeEach(async () => {
  await db().mail.deleteMany()
  server = await openMailServer()
  supplyEnv({ SMTP_URL: server.url, MAIL_FROM: 'Troco da Praça <no-reply@troco.example>' })
})
afterEach(async () => {
  await server.close()
  supplyEnv({ SMTP_URL: '', TROCO_ENV: 'local' })
})

function queue(message: Message = RESET, to: { email: string; locale: string | null } = ANA) {
  return transaction(tx => queueMail(tx, to, message))
}

async function retryMails(): Promise<void> {
  await db().$executeRaw`UPDATE mails SET due_at = now() WHERE due_at IS NOT NULL`
  await sendDueMails()
}

const findMails = () => db().mail.findMany()

test('a mail is sent once, over TLS with authentication, and its row is deleted', async () => {
  await queue()
  expect(await sendDueMails()).toBe(1)
  expect(await sendDueMails()).toBe(0)
  expect(server.received).toHaveLength(1)
  const [{ to, subject, text, rawHeaders } = { to: [], subject: '', text: '', rawHeaders: '' }] =
    server.received
  expect([to, subject]).toEqual([['ana@padaria.example'], 'Redefina sua senha do Troco'])
  expect(text).toContain('Para criar uma nova, abra este link em até uma hora:\n')
  expect(text).toContain('\nhttp://localhost:3000/reset/a-secret\n')
  expect(rawHeaders).toContain('From: =?UTF-8?Q?Troco_da_Pra=C3=A7a?= <no-reply@troco.example>')
  expect(await findMails()).toEqual([])
})

test('a worker that lost the lease of a mail leaves the row to the other', async () => {
  await queue()
  const lease = newId()
  server.setHandler(async () => void (await db().mail.updateMany({ data: { lease } })))
  await sendDueMails()
  expect(server.received).toHaveLength(1)
  expect(await findMails()).toMatchObject([{ lease }])
})

test('both languages and non-ASCII names arrive unchanged', async () => {
  const invitation = {
    kind: 'invitation',
    account: 'Pão & Cia 🍞',
    inviter: 'Zoé',
    path: '/join/x',
  }
  const message = { ...invitation, role: 'finance' } as const
  await queue(message as Message)
  await queue(message as Message, { email: 'bob@bakery.example', locale: 'en' })
  await sendDueMails()
  const findMailTo = (email: string) => server.received.find(mail => mail.to.includes(email))
  expect(findMailTo('ana@padaria.example')?.subject).toBe('Convite para “Pão & Cia 🍞” no Troco')
  expect(findMailTo('ana@padaria.example')?.text).toContain('Zoé convidou você para “Pão & Cia 🍞”')
  expect(findMailTo('ana@padaria.example')?.text).toContain('com o papel financeiro')
  expect(findMailTo('bob@bakery.example')?.subject).toBe('Invitation to “Pão & Cia 🍞” on Troco')
  expect(findMailTo('bob@bakery.example')?.text).toContain('with the role finance.')
  expect(findMailTo('bob@bakery.example')?.text).toContain('http://localhost:3000/join/x')
})

test('a notice about a credential links to the page where a password is chosen', async () => {
  const notice = { at: new Date(), ip: '203.0.113.7' }
  await queue({ kind: 'passwordChanged', ...notice })
  await queue({ kind: 'secondFactorChanged', ...notice, change: 'passkeyAdded' })
  await queue({ kind: 'wrongCodes', ...notice, count: '20' })
  await queue({ kind: 'openidLinked', ...notice, provider: 'Entrada' })
  await sendDueMails()
  expect(server.received).toHaveLength(4)
  for (const { text } of server.received) expect(text).toContain('http://localhost:3000/reset ')
})

test('an account name cannot add a header, a recipient or a link', async () => {
  const account = 'Loja\r\nBcc: thief@evil.example\r\n\r\n{link} <b>x</b>'
  await queue({ kind: 'accountActivated', account })
  await sendDueMails()
  const [mail] = server.received
  expect(mail?.to).toEqual(['ana@padaria.example'])
  expect(mail?.rawHeaders).not.toMatch(/^bcc:/im)
  expect(mail?.subject).toBe('“Loja Bcc: thief@evil.example {link} <b>x</b>” está ativa no Troco')
})

test('while the server is down a mail is retried after growing pauses, and sent once it is back', async () => {
  const { port } = new URL(server.url)
  await server.close()
  await queue()
  await sendDueMails()
  const [waiting] = await findMails()
  const waitsMs = (waiting?.dueAt?.getTime() ?? 0) - Date.now()
  expect(waitsMs).toBeGreaterThan(25_000)
  expect(waitsMs).toBeLessThan(31_000)
  await retryMails()
  const [later] = await findMails()
  expect((later?.dueAt?.getTime() ?? 0) - Date.now()).toBeGreaterThan(55_000)
  server = await openMailServer(Number(port))
  supplyEnv({ SMTP_URL: server.url })
  await retryMails()
  expect(server.received).toHaveLength(1)
  expect(await findMails()).toEqual([])
})

test('a server with an untrusted certificate receives neither password nor mail', async () => {
  supplyEnv({ SMTP_URL: server.untrustedUrl })
  await queue()
  await sendDueMails()
  expect(server.received).toEqual([])
  expect(await findMails()).toMatchObject([{ attempts: 1, failedAt: null }])
})

test('a server on another machine that offers no STARTTLS receives no mail, one on this machine does', async () => {
  const plain = await openMailServer(0, true)
  const { port } = new URL(plain.url)
  // An address that leads to this machine, but is not one of those that mean it.
  for (const login of ['', 'troco:password@']) {
    supplyEnv({ SMTP_URL: `smtp://${login}0.0.0.0:${port}` })
    await queue()
    await sendDueMails()
    expect(plain.received).toEqual([])
    expect(await findMails()).toMatchObject([{ attempts: 1, failedAt: null }])
    await db().mail.deleteMany()
  }
  supplyEnv({ SMTP_URL: `smtp://127.0.0.1:${port}` })
  await queue()
  await sendDueMails()
  expect(plain.received).toHaveLength(1)
  await plain.close()
})

test('after a worker is killed while sending, the mail is sent once more', async () => {
  await queue()
  const reached = new Promise<void>(resolve =>
    server.setHandler(() => new Promise(() => resolve())),
  )
  const code = "import('#lib/mail/queue.ts').then(found => found.sendDueMails())"
  const { DATABASE_URL, TROCO_SECRET } = env()
  const settings = { ...inheritedEnv(), DATABASE_URL, TROCO_SECRET, SMTP_URL: server.url }
  const child = spawn(process.execPath, ['-e', code], { env: settings, stdio: 'ignore' })
  await reached
  child.kill('SIGKILL')
  await once(child, 'exit')
  server.setHandler(async () => {})
  expect(await sendDueMails(), 'while the lease lasts nobody else sends it').toBe(0)
  await retryMails()
  expect(server.received).toHaveLength(2)
  expect(await findMails()).toEqual([])
})

test('concurrent workers send each mail once', async () => {
  for (let index = 0; index < 8; index++)
    await queue(RESET, { ...ANA, email: `a${index}@padaria.example` })
  await Promise.all([sendDueMails(), sendDueMails(), sendDueMails()])
  const to = server.received.flatMap(mail => mail.to)
  expect([to.length, new Set(to).size]).toEqual([8, 8])
})

test('a mail refused ten times is given up, and its content is deleted', async () => {
  server.setHandler(async () => {
    throw Object.assign(new Error('No such person here'), { responseCode: 550 })
  })
  await queue()
  for (let times = 0; times < 9; times++) await retryMails()
  expect(await findMails()).toMatchObject([{ attempts: 9, failedAt: null }])
  await retryMails()
  const [failed] = await findMails()
  expect(failed).toMatchObject({ attempts: 10, dueAt: null, failedAt: expect.any(Date) })
  expect(failed?.sealed).toHaveLength(0)
  await retryMails()
  expect(server.received).toHaveLength(10)
})

test('without a mail server a mail is logged locally, and discarded unlogged in production', async () => {
  const readLog = followLog()
  supplyEnv({ SMTP_URL: '' })
  await queue()
  await sendDueMails()
  expect(readLog()).toContain('http://localhost:3000/reset/a-secret')
  expect(await findMails()).toEqual([])
  const readProductionLog = followLog()
  supplyEnv({ TROCO_ENV: 'production' })
  await queue()
  await sendDueMails()
  expect(await findMails()).toMatchObject([{ failedAt: expect.any(Date) }])
  expect(readProductionLog()).not.toContain('a-secret')
})
