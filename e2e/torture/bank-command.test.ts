import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { credentialsAt, openAt } from '#e2e/banks/open.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { runTroco, settingsBesideTest } from '#lib/testing/process.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { pickSize } from '#lib/testing/size.ts'
import { testInTorture } from '#lib/testing/torture.ts'

inOwnDatabase()

const SCOPES = ['cob.read', 'cob.write', 'pix.read', 'pix.write', 'webhook.read', 'webhook.write']

let bank: RunningBank
let api: Api
let folder: string
beforeAll(async () => {
  folder = makeScratchFolder('troco-bank-')
  bank = await startBank()
  api = await startApi()
})
afterAll(async () => {
  await api.close()
  await bank.stop()
  rmSync(folder, { recursive: true })
})

beforeEach(() => bank.run('change', { scopes: SCOPES }))

/** Runs a command beside the API of this test, in the same database. */
function troco(args: string[], input?: string, PUBLIC_URL = env().PUBLIC_URL) {
  return runTroco(['bank', ...args], { ...settingsBesideTest(folder), PUBLIC_URL }, input)
}

const lastLine = (output: string) => output.trimEnd().split('\n').at(-1) ?? ''

/** Adds a connection to the bank. Its credentials come from a file, or from standard input. */
function add(name: string, file: string, input?: string, key = bank.keys[0] ?? '') {
  return troco(
    [
      'add',
      '--name',
      name,
      '--kind',
      'api_pix',
      '--environment',
      'production',
      '--receiving-key',
      key,
      '--settings',
      join(bank.folder, 'settings.json'),
      '--credentials',
      file,
    ],
    input,
  )
}

test('an account receives through a bank that was added, checked and assigned, until it is closed', async () => {
  const { id: accountId } = await makeMerchant()
  const token = await makeToken(accountId, { mode: 'live' })
  const charge = () => call(api.url, 'POST', '/transactions', { token, body: CHARGE })
  const added = await add('Banco Azul', '-', JSON.stringify(credentialsAt(bank)))
  const id = lastLine(added.output)
  expect(added).toEqual({ code: 0, output: expect.stringMatching(/^[0-9a-f-]{36}\n$/) })
  const assign = () => troco(['assign', accountId, '--receiving', 'Banco Azul'])
  expect(await assign()).toEqual({
    code: 1,
    output: '--receiving must be a connection that has passed its check\n',
  })
  expect((await charge()).status).toBe(403)

  const checked = await troco(['check', 'Banco Azul'])
  expect(checked.output).toMatch(/^ok {4}scope_used: the scope pix\.write works$/m)
  expect(checked.output).toMatch(/\nBanco Azul passed its check\n$/)
  expect(checked.code).toBe(0)
  expect(await assign()).toEqual({
    code: 0,
    output: `Receives through: Banco Azul. Pays out through: none\n${accountId}\n`,
  })
  const { status, body } = await charge()
  expect(status).toBe(200)
  const { charges } = await bank.run('readRecords')
  const txid = removeHyphens(body.data.transaction_id)
  expect(charges).toEqual([{ txid, status: 'ATIVA', e2eids: [] }])

  expect(await troco(['close', 'Banco Azul'])).toEqual({
    code: 0,
    output: [
      'Accounts that it was taken from: 1',
      'Still open there: charges 1, withdrawals 0, refunds 0. They end as usual: leave the contract at the bank active',
      `${id}\n`,
    ].join('\n'),
  })
  expect((await charge()).status).toBe(403)
})

test('a check prints what is wrong and what to do, and fails; a renewal solves it', async () => {
  const credentials = credentialsAt(bank, 'pem', bank.certificates.expiredClient)
  const { id } = await openAt(bank, {
    name: 'Banco Velho',
    credentials: JSON.stringify(credentials),
  })
  const { code, output } = await troco(['check', id])
  expect(output).toMatch(
    /^WRONG certificate_expired: the certificate expired on [\d-]{10}\n {6}Get a certificate from the bank, .+\.\n/,
  )
  expect(output).toMatch(/\nBanco Velho failed its check: it serves no account\n$/)
  expect(code).toBe(1)
  const renewed = await troco(['renew', id, '--credentials', join(bank.folder, 'credentials.json')])
  expect(renewed.output).toMatch(/^ok {4}scope_used: .+\n/m)
  expect(renewed.output).toMatch(/\nBanco Velho has new credentials\n$/)
  expect(renewed.code).toBe(0)
})

/** `bank-check` checks it without the command. */
testInTorture(
  'a check names a missing scope, and a foreign address without its secret',
  async () => {
    const { gateway } = await openAt(bank, { name: 'Banco Verde' })
    const address = 'https://other.example/hook/canary'
    await gateway.registerWebhook?.(address, AbortSignal.timeout(10_000))
    await bank.run('change', { scopes: SCOPES.filter(scope => scope !== 'pix.write') })
    const { code, output } = await troco(['check', 'Banco Verde'])
    expect(output).toMatch(
      /^WRONG scope_missing: the application lacks the scope pix\.write \(.+\)\n {6}Ask the bank/m,
    )
    expect(output).toMatch(
      /^NOTE {2}notices_foreign: .+ go to other\.example, not to this installation\n {6}If /m,
    )
    expect(output).not.toContain('canary')
    expect(code).toBe(1)
  },
)

testInTorture(
  'credentials are read from a file; a P12 in RC2 is refused with the command that converts it',
  async () => {
    expect(
      (await add('Banco Cinza', join(bank.folder, 'credentials.json'), '', newId())).code,
    ).toBe(0)
    const file = join(folder, 'credentials.json')
    writeFileSync(file, JSON.stringify(credentialsAt(bank, 'p12-legacy')))
    const { code, output } = await add('Banco Rosa', file)
    expect(output).toMatch(
      /^credentials must have a p12 without RC2\. .+ Convert it with: .+openssl pkcs12 -legacy /,
    )
    expect(code).toBe(1)
  },
)

test.each(['efi', 'api_pix'].slice(0, pickSize(1, 2)))(
  'a bank of the kind %s is not added without credentials',
  async kind => {
    const { code, output } = await troco([
      ...[
        'add',
        '--name',
        `Sem credenciais ${kind}`,
        '--kind',
        kind,
        '--environment',
        'production',
      ],
      '--receiving-key',
      newId(),
      '--settings',
      join(bank.folder, 'settings.json'),
    ])
    expect(output).toBe(
      'credentials must be given: client_id, client_secret, and p12 or certificate and private_key\n',
    )
    expect(code).toBe(1)
    expect((await troco(['list'])).output).not.toContain('Sem credenciais')
  },
)

test('notices are registered, rotated and restricted, and no address is printed', async () => {
  const { id } = await openAt(bank, { name: 'Banco Roxo' })
  const run = (...args: string[]) => troco(args, undefined, 'https://pay.example')
  const readUrl = async () => (await bank.run('readRecords')).webhooks[0]?.url ?? ''
  expect(await run('register-notices', id, '--replace')).toEqual({
    code: 0,
    output: `${maskDictKey(bank.keys[0] ?? '')}\tregistered now\n`,
  })
  const first = await readUrl()
  expect(first).toMatch(new RegExp(`^https://pay\\.example/api/banks/${id}/notices/.{20}`))
  expect((await run('rotate-notices', id)).output).toMatch(/\tregistered now\n$/)
  expect(await readUrl()).not.toBe(first)
  expect(await run('restrict-notices', id, '--from', '203.0.113.0/24')).toEqual({
    code: 0,
    output: `${id}\n`,
  })
  const { noticeCidrs } = await db().connection.findUniqueOrThrow({ where: { id } })
  expect(noticeCidrs).toEqual(['203.0.113.0/24'])
})
