import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { hasCode, KEY, TrialStage } from '#e2e/banks/trial-stage.ts'
import { newId, TRIAL_ACCOUNT_ID } from '#lib/core/ids.ts'
import { inheritedEnv } from '#lib/core/settings.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'
import { settingsBesideTest } from '#lib/testing/process.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { LEASE_SECONDS, TROCO } from '#lib/testing/worker-process.ts'

inOwnDatabase()

let stage: TrialStage
let folder: string
beforeAll(async () => {
  folder = makeScratchFolder('troco-trial-')
  stage = await TrialStage.open()
})
afterAll(async () => {
  await stage.account.close()
  rmSync(folder, { recursive: true })
  await expectBalancedLedger(TRIAL_ACCOUNT_ID)
})
beforeEach(() => stage.connect())

/** Runs a command beside this test, in the same database, without a worker. */
function start(command: 'trial' | 'evidence', ...args: string[]) {
  const child = spawn(process.execPath, [...TROCO, 'bank', command, stage.connectionId, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...inheritedEnv(),
      ...settingsBesideTest(folder),
      WORKER_LEASE_SECONDS: String(LEASE_SECONDS),
    },
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', chunk => {
      printed += chunk
    })
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  return { output: () => printed, ended, stop: () => child.kill('SIGINT') }
}

const LONG = { timeout: 150_000 }
const waitForCode = (output: () => string) =>
  expect.poll(output, LONG).toMatch(/WAIT {2}payment: pay R\$ 0\.03 by .*\n000201/)

/** Pays the code, delivers the notice and has the bank end its orders, until the command ends. */
async function payUntilEnded(command: ReturnType<typeof start>): Promise<number | null> {
  const found = await stage.read()
  expect(hasCode(found)).toBe(true)
  const e2eid = await stage.pay(found)
  let code: number | null | undefined
  command.ended.then(ended => {
    code = ended
  })
  await expect
    .poll(async () => {
      await stage.announce(e2eid)
      await stage.bank.run('settle')
      return code
    }, LONG)
    .toBeDefined()
  return code ?? null
}

test('a trial is stopped by Ctrl-C and followed by the same command, to its end', async () => {
  const first = start('trial', '--key', KEY)
  await waitForCode(first.output)
  first.stop()
  await first.ended
  const { id } = await stage.read()
  const second = start('trial', '--key', KEY)
  await waitForCode(second.output)
  expect(await payUntilEnded(second)).toBe(0)
  expect((await stage.read()).id).toBe(id)
  const lines = second.output().trimEnd().split('\n')
  expect(lines.at(-1)).toMatch(/ passed its trial$/)
  for (const step of ['charge', 'payment', 'notice', 'refund', 'withdrawal'])
    expect(lines.some(line => line.startsWith(`ok    ${step}: `))).toBe(true)
  expect(await stage.payoutsTo(KEY)).toHaveLength(1)
}, 600_000)

test('the evidence of a trial has its calls and receipts, and no secret', async () => {
  const key = `${newId()}@example.com`
  expect((await stage.run({ pixKey: key })).status).toBe('passed')
  const command = start('evidence')
  expect(await command.ended).toBe(0)
  const output = command.output()
  for (const step of ['charge', 'payment', 'notice', 'refund', 'withdrawal'])
    expect(output).toContain(`- [x] ${step}: done (`)
  for (const operation of ['createCharge', 'getCharges', 'refundCharge', 'sendPayout'])
    expect(output).toMatch(new RegExp(`Z ${operation} \\{.*\n  ok `))
  expect(output.match(/- http\S+/g)).toHaveLength(2)
  expect(output).toContain('- [ ] The payer has the refund')
  expect(output).not.toContain(key)
})

test('a trial that fails says why, with exit code 1', async () => {
  await stage.bank.run('addFault', {
    kind: 'respond',
    method: 'PUT',
    path: '/v2/cob/',
    status: 403,
    body: JSON.stringify({ nome: 'acesso_negado', mensagem: 'Sem permissão' }),
  })
  const command = start('trial', '--key', KEY)
  expect(await command.ended).toBe(1)
  expect(command.output()).toMatch(/WRONG charge: .*acesso_negado/)
  expect(command.output()).toMatch(/ failed its trial\n$/)
})

test('without a key that it needs, nothing begins', async () => {
  const command = start('trial')
  expect(await command.ended).toBe(1)
  expect(command.output()).toContain('pix_key must be given')
})
