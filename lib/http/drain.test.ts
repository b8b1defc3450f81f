import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createFront, drain } from '#lib/http/front.ts'

test('a server that stops is not ready, serves until balancers have noticed, and ends what has begun', async () => {
  const page = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const front = await createFront(async (_request, response) => {
    begun.resolve()
    await page.promise
    response.end('a page')
  })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  const origin = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
  const ready = await fetch(`${origin}/readyz`)
  expect([ready.status, ready.headers.get('connection')]).toEqual([200, 'keep-alive'])

  const slow = fetch(`${origin}/home`)
  await begun.promise
  const noticed = Promise.withResolvers<void>()
  const ended = drain(front, noticed.promise)
  const unready = await fetch(`${origin}/readyz`)
  expect([unready.status, await unready.json()]).toEqual([
    503,
    { status: 'unavailable', reason: 'the process is stopping' },
  ])
  for (const path of ['/healthz', '/api/account', '/pay/none']) {
    const { status, headers } = await fetch(origin + path)
    expect([status < 500, headers.get('connection')], path).toEqual([true, 'close'])
  }

  noticed.resolve()
  await expect.poll(() => fetch(`${origin}/healthz`).catch(() => null)).toBe(null)
  page.resolve()
  expect(await (await slow).text()).toBe('a page')
  await ended
})
