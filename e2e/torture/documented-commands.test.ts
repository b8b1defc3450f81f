import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type Installation,
  killProcesses,
  makeInstallation,
  runCommand,
  startServer,
} from '#lib/testing/process.ts'

const RECEIVER = 'examples/receiver.mjs'

interface Demo {
  base_url: string
  merchant: { email: string }
  token: string
}

let installation: Installation
beforeEach(async () => {
  installation = await makeInstallation()
})
afterEach(async () => {
  await killProcesses(installation)
  installation.remove()
})

test.each(['en', 'pt-BR'])(
  'the guide to webhooks in %s contains examples/receiver.mjs, with comments in its language',
  locale => {
    const guide = readFileSync(`docs/guides/${locale}/webhooks.md`, 'utf8')
    const codeOf = (text: string) => text.replaceAll(/^ *\/\/.*\n/gm, '')
    expect(codeOf(guide)).toContain(codeOf(readFileSync(RECEIVER, 'utf8')))
  },
)

function extractShellCommands(page: string, demo: Demo, receiver: string): string {
  const blocks = readFileSync(page, 'utf8').matchAll(/^```sh\n(.*?)^```/gms)
  return [...blocks]
    .map(([, commands = '']) => commands)
    .join('')
    .replaceAll('troco_test_…', demo.token)
    .replaceAll('http://localhost:3000/api', demo.base_url)
    .replaceAll('http://127.0.0.1:4000/', receiver)
}

test('the commands of README.md and of the guide to webhooks succeed and trigger webhooks', async () => {
  const server = await startServer(installation)
  const demo: Demo = JSON.parse(
    readFileSync(join(installation.folder, 'data', 'demo.json'), 'utf8'),
  )
  const args = ['troco', 'webhook', 'secret', '--account', demo.merchant.email]
  const secret =
    (await runCommand(args, installation.settings)).output.trim().split('\n').at(-1) ?? ''
  expect(secret).toMatch(/^whsec_/)
  const receiver = spawn('node', [RECEIVER, secret, '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  let receiverOutput = ''
  receiver.stdout.on('data', chunk => {
    receiverOutput += chunk
  })
  await expect.poll(() => receiverOutput, { timeout: 10_000 }).toContain('listening at')
  const webhook_url = receiverOutput.trim().split(' ').at(-1) ?? ''

  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${demo.token}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await fetch(`${demo.base_url}${path}`, init)).json()
  }
  const payer = { client_name: 'Ana', client_email: 'ana@example.com', client_doc: '39053344705' }
  const { data } = await post('/transactions', { amount: 1_500, ...payer, webhook_url })
  await post(`/sandbox/transactions/${data.transaction_id}`, { outcome: 'paid' })
  const line = `transaction.paid ${data.transaction_id}: 1500 cents`
  await expect.poll(() => receiverOutput, { timeout: 10_000 }).toContain(line)

  const withdrawal = { amount: 1_000, pix_key: 'ana@example.com', pix_key_type: 'email' }
  const { data: sent } = await post('/withdrawals', { ...withdrawal, webhook_url })
  const approved = `withdrawal.approved ${sent.id}: 1000 cents`
  await expect.poll(() => receiverOutput, { timeout: 20_000 }).toContain(approved)

  const permissions = ['transactions:write', 'transactions:read', 'webhooks:write'].join()
  const create = ['token', 'create', '--account', demo.merchant.email, '--name', 'guide']
  const created = await runCommand(
    ['troco', ...create, '--permissions', permissions],
    installation.settings,
  )
  const token = /troco_test_\w+/.exec(created.output)?.[0]
  for (const page of ['README.md', 'docs/guides/en/webhooks.md']) {
    const commands = extractShellCommands(page, demo, webhook_url)
    expect(commands).toContain('/transactions')
    const failingCurl = 'curl() { command curl --silent --show-error --fail "$@"; }'
    const names = { API: demo.base_url, JSON: 'Content-Type: application/json' }
    const { status, stderr } = spawnSync('bash', ['-e', '-c', `${failingCurl}\n${commands}`], {
      encoding: 'utf8',
      env: { ...process.env, ...names, AUTH: `Authorization: Bearer ${token}` },
    })
    expect({ page, status, stderr }).toEqual({ page, status: 0, stderr: '' })
  }
  await expect
    .poll(() => receiverOutput.match(/^transaction\.paid/gm)?.length, { timeout: 10_000 })
    .toBe(2)
  expect(receiverOutput).not.toContain('refused')
  receiver.kill()
  await once(receiver, 'exit')
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
}, 120_000)
