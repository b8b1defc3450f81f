import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { call } from '#lib/testing/call.ts'
import { type Api, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { LANGUAGES, prepareLanguages, readSamples } from '#lib/testing/sample-languages.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { TEST_EVENT_TYPES } from '#lib/webhooks/states.ts'

type ReceiverLanguage = 'js' | 'python' | 'php'

/** Those in Portuguese differ in texts alone, as a test of the samples shows. */
const LOCALES = process.env.MATRIX_FULL ? ['en', 'pt-BR'] : ['en']
const RECEIVERS = LOCALES.flatMap(locale =>
  (['js', 'python', 'php'] as const).map(language => [locale, language] as const),
)

let api: Api
beforeAll(async () => {
  await prepareLanguages()
  api = await startApi()
})
afterAll(() => api.close())

/** Returns the arguments that run a receiver of the guide to webhooks. */
function argumentsOf(locale: string, language: ReceiverLanguage, port: number): string[] {
  const file = join(makeScratchFolder('troco-receiver-'), 'receiver')
  // The receiver is the first sample of the guide.
  const [source = ''] = readSamples('webhooks', locale, language)
  writeFileSync(file, source.replace('4000', String(port)))
  return language === 'php' ? ['-S', `127.0.0.1:${port}`, file] : [file]
}

/** Starts a receiver of the guide to webhooks and waits until it refuses an unsigned request. */
async function startReceiver(
  locale: string,
  language: ReceiverLanguage,
  port: number,
  secret: string,
) {
  // The guide contains the example, apart from comments, as e2e/torture/documented-commands.test.ts shows: here it finds its package.
  const args =
    language === 'js'
      ? ['examples/receiver.mjs', secret, String(port)]
      : argumentsOf(locale, language, port)
  const environment = { ...process.env, TROCO_WEBHOOK_SECRET: secret }
  const child = spawn(LANGUAGES[language].program(), args, { env: environment, stdio: 'ignore' })
  onTestFinished(async () => {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  await expect
    .poll(() =>
      fetch(`http://127.0.0.1:${port}/`, { method: 'POST' }).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(400)
}

test.each(RECEIVERS)(
  'the receiver of the guide in %s and %s accepts what Standard Webhooks signs, and nothing else',
  async (locale, language) => {
    const secret = `whsec_${Buffer.from('a secret of 32 bytes for a test!').toString('base64')}`
    const port = await findFreePort()
    await startReceiver(locale, language, port, secret)
    const url = `http://127.0.0.1:${port}/`
    const body = JSON.stringify({ id: 'evt', type: 'transaction.paid', name: 'José' })
    const send = async (signed: string, sentAt: Date, sentBody = body, before = '') => {
      const signature = new Webhook(signed).sign('evt', sentAt, body)
      const headers = {
        'webhook-id': 'evt',
        'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
        'webhook-signature': before + signature,
      }
      return (await fetch(url, { method: 'POST', headers, body: sentBody })).status
    }
    const now = new Date()
    const other = `whsec_${Buffer.from('another secret of 32 bytes long!').toString('base64')}`
    expect(await send(secret, now)).toBe(204)
    expect(await send(secret, now, body, 'v1,AAAA ')).toBe(204)
    expect(await send(secret, now, body, 'v1,é ')).toBe(204)
    expect(await send(other, now)).toBe(400)
    const strange = { 'webhook-id': 'evt', 'webhook-timestamp': '²', 'webhook-signature': 'é' }
    expect((await fetch(url, { method: 'POST', headers: strange, body })).status).toBe(400)
    expect(await send(secret, now, body.replace('paid', 'PAID'))).toBe(400)
    expect(await send(secret, new Date(now.getTime() - 400_000))).toBe(400)
  },
)

test.each(RECEIVERS)(
  'the receiver of the guide in %s and %s accepts each type of event that Troco sends, and a ping',
  async (locale, language) => {
    const token = await makeToken((await makeMerchant()).id)
    const port = await findFreePort()
    const url = `http://127.0.0.1:${port}/`
    const endpoint = { url, event_types: ['transaction.paid'] }
    const made = await call(api.url, 'POST', '/webhooks/endpoints', { token, body: endpoint })
    const { id, secret } = made.body.data
    await startReceiver(locale, language, port, secret)
    const statuses: Record<string, number | null> = {}
    for (const type of TEST_EVENT_TYPES) {
      const path = `/webhooks/endpoints/${id}/test`
      const { body } = await call(api.url, 'POST', path, { token, body: { type } })
      statuses[type] = body.data.status
    }
    expect(statuses).toEqual(Object.fromEntries(TEST_EVENT_TYPES.map(type => [type, 204])))
  },
)
