import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  killEverything,
  makePlace,
  type Place,
  runCommand,
  startServer,
} from '#lib/testing/process.ts'

const RECEIVER = 'examples/receiver.mjs'

let place: Place
beforeEach(async () => {
  place = await makePlace()
})
afterEach(async () => {
  await killEverything(place)
  place.remove()
})

test('the README shows the receiver that is in the repository', () => {
  expect(readFileSync('README.md', 'utf8')).toContain(readFileSync(RECEIVER, 'utf8'))
})

test("the README's story: a charge is paid at the simulated bank, and the receiver is told of it", async () => {
  const server = await startServer(place)
  const demo = JSON.parse(readFileSync(join(place.folder, 'data', 'demo.json'), 'utf8'))
  const words = ['troco', 'webhook', 'secret', '--account', demo.merchant.email]
  const secret = (await runCommand(words, place.settings)).output.trim().split('\n').at(-1) ?? ''
  expect(secret).toMatch(/^whsec_/)
  const receiver = spawn('node', [RECEIVER, secret, '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  receiver.stdout.on('data', chunk => {
    printed += chunk
  })
  await expect.poll(() => printed, { timeout: 10_000 }).toContain('waiting at')
  const webhook_url = printed.trim().split(' ').at(-1)

  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${demo.token}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await fetch(`${demo.base_url}${path}`, init)).json()
  }
  const payer = { client_name: 'Ana', client_email: 'ana@example.com', client_doc: '39053344705' }
  const { data } = await post('/transactions', { amount: 1_500, ...payer, webhook_url })
  await post(`/sandbox/transactions/${data.transaction_id}`, { outcome: 'paid' })
  const line = `transaction.paid ${data.transaction_id}: 1500 cents`
  await expect.poll(() => printed, { timeout: 10_000 }).toContain(line)

  const withdrawal = { amount: 1_000, pix_key: 'ana@example.com', pix_key_type: 'email' }
  const { data: sent } = await post('/withdrawals', { ...withdrawal, webhook_url })
  const approved = `withdrawal.approved ${sent.id}: 1000 cents`
  await expect.poll(() => printed, { timeout: 20_000 }).toContain(approved)
  expect(printed).not.toContain('refused')
  receiver.kill()
  await once(receiver, 'exit')
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
}, 120_000)
