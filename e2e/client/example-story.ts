import { spawn } from 'node:child_process'
import { copyFileSync, cpSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { expect } from 'vitest'
import { findFreePort } from '../../lib/testing/server.ts'
import type { TrocoServer } from '../../packages/testing/index.d.ts'

const { startTroco } = createRequire(import.meta.url)('../../packages/testing/index.cjs') as {
  startTroco: () => Promise<TrocoServer>
}

export interface Example {
  /** A file of the folder examples, or a folder there. */
  source: string
  /** The client of its language, as the server provides it. */
  client: string
  program: string
  args: (port: number) => string[]
}

const BUYER = { name: 'Ana Beatriz Rocha', email: 'ana@example.com', document: '529.982.247-25' }

/**
 * Copies an example and the served client into a folder, starts it there, and sells one order: created, paid, reported by
 * a webhook, and marked as paid once, whatever else arrives at the webhook's address.
 */
export async function expectOneSale(folder: string, example: Example): Promise<void> {
  const troco = await startTroco()
  const account = await troco.account()
  const source = join('examples', example.source)
  if (statSync(source).isDirectory()) cpSync(source, folder, { recursive: true })
  else copyFileSync(source, join(folder, basename(source)))
  const served = await fetch(`${troco.url}/docs/clients/${example.client}`)
  writeFileSync(join(folder, example.client), await served.text())
  const port = await findFreePort()
  const shop = spawn(example.program, example.args(port), {
    cwd: folder,
    env: {
      ...process.env,
      NODE_ENV: 'development',
      NEXT_TELEMETRY_DISABLED: '1',
      PORT: String(port),
      TROCO_URL: account.url,
      TROCO_TOKEN: account.token,
      TROCO_WEBHOOK_SECRET: account.webhookSecret,
    },
  })
  let output = ''
  for (const stream of [shop.stdout, shop.stderr])
    stream.on('data', text => {
      output += text
    })
  try {
    const url = `http://127.0.0.1:${port}`
    const isUp = () =>
      fetch(`${url}/orders?id=none`).then(
        ({ status }) => status,
        () => 0,
      )
    await expect.poll(isUp, { message: output }).toBe(404)
    const post = (path: string, body: string, headers = {}) => {
      const given = { 'content-type': 'application/json', ...headers }
      return fetch(url + path, { method: 'POST', body, headers: given })
    }
    const mistaken = await post('/orders', JSON.stringify({ ...BUYER, document: '1' }))
    expect([mistaken.status, Object.keys((await mistaken.json()).errors)]).toEqual([
      422,
      ['client_doc'],
    ])
    const created = await post('/orders', JSON.stringify(BUYER))
    expect(created.status).toBe(201)
    const { id, br_code, payment_url } = await created.json()
    expect(br_code).toMatch(/^00020101/)
    expect((await fetch(payment_url)).status).toBe(200)

    const readOrder = async () => (await fetch(`${url}/orders?id=${id}`)).json()
    const paid = JSON.stringify({ type: 'transaction.paid', transaction: { external_id: id } })
    expect((await post('/hooks/troco', paid)).status).toBe(400)
    expect(await readOrder()).toEqual({ id, amount: 4990, paid_at: null })

    await account.webhooks.forwardTo(`${url}/hooks/troco`)
    await account.pay(id)
    await expect.poll(readOrder).toMatchObject({ paid_at: expect.any(String) })
    const { body, headers } = await account.webhooks.next('transaction.paid')
    const signature = Object.fromEntries(
      Object.entries(headers).filter(([name]) => name.startsWith('webhook-')),
    )
    expect((await post('/hooks/troco', body, signature)).status).toBe(204)
    const tampered = body.replaceAll(id, 'another order')
    expect((await post('/hooks/troco', tampered, signature)).status).toBe(400)
    expect(output.split(`pack order ${id}`)).toHaveLength(2)
  } finally {
    shop.kill()
    await troco.close()
  }
}
