import { inflateSync } from 'node:zlib'
import { encode } from 'uqr'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '#lib/testing/call.ts'
import { type Api, CHARGE, startApiWithMerchant } from '#lib/testing/fixtures.ts'

let api: Api
let token: string
beforeAll(async () => {
  ;({ api, token } = await startApiWithMerchant())
})
afterAll(() => api.close())

async function createCharge(): Promise<{ transaction_id: string; br_code: string }> {
  return (await call(api.url, 'POST', '/transactions', { token, body: CHARGE })).body.data
}

function getImage(path: string): Promise<Response> {
  return fetch(`${api.url}/api${path}`, { headers: { authorization: `Bearer ${token}` } })
}

function modulesOf(brCode: string): boolean[][] {
  return encode(brCode, { ecc: 'M', border: 4 }).data
}

/** Reads the pixels of a PNG with one bit per pixel and without filters: true is black. */
function readPng(file: Buffer): boolean[][] {
  expect(file.subarray(1, 4).toString()).toBe('PNG')
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)]
  const dataAt = file.indexOf('IDAT')
  const length = file.readUInt32BE(dataAt - 4)
  const pixels = inflateSync(file.subarray(dataAt + 4, dataAt + 4 + length))
  const rowBytes = 1 + Math.ceil(width / 8)
  return Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (_, x) => {
      const byte = pixels[y * rowBytes + 1 + (x >> 3)] ?? 0
      return (byte & (0x80 >> (x & 7))) === 0
    }),
  )
}

test.each([200, 400, 777, 1_000])('a PNG of %s pixels shows the br_code', async size => {
  const { transaction_id, br_code } = await createCharge()
  const response = await getImage(`/transactions/${transaction_id}/qr.png?size=${size}`)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
  expect(response.headers.get('cache-control')).toBe('private, no-cache')
  const pixels = readPng(Buffer.from(await response.arrayBuffer()))
  const modules = modulesOf(br_code)
  const scale = Math.floor(size / modules.length)
  const margin = Math.floor((size - scale * modules.length) / 2)
  expect([pixels.length, pixels[0]?.length]).toEqual([size, size])
  for (const at of [0, scale - 1]) {
    const shown = modules.map((row, y) =>
      row.map((_, x) => pixels[margin + y * scale + at]?.[margin + x * scale + at]),
    )
    expect(shown).toEqual(modules)
  }
})

test('an SVG shows the br_code, also by external_id', async () => {
  const body = { ...CHARGE, external_id: 'order / 7' }
  const { data } = (await call(api.url, 'POST', '/transactions', { token, body })).body
  const response = await getImage(`/transactions/${encodeURIComponent('order / 7')}/qr.svg`)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/svg+xml'])
  const svg = await response.text()
  const modules = modulesOf(data.br_code)
  expect(svg).toContain(`viewBox="0 0 ${modules.length} ${modules.length}"`)
  const shown = modules.map(row => row.map(() => false))
  for (const [, y = '', line = ''] of svg.matchAll(/M(?=\d+ (\d+)\.5)([^M"]*)/g)) {
    let x = 0
    for (const [, move = '', run = ''] of line.matchAll(/m?(\d+)[^h]*h(\d+)/g)) {
      x += Number(move)
      for (let end = x + Number(run); x < end; x++) (shown[Number(y)] ?? [])[x] = true
    }
  }
  expect(shown).toEqual(modules)
})

test.each(['paid', 'failed', 'expired'])('409 once the charge is %s', async outcome => {
  const { transaction_id: id } = await createCharge()
  await call(api.url, 'POST', `/sandbox/transactions/${id}`, { token, body: { outcome } })
  for (const image of ['qr.svg', 'qr.png']) {
    const { status, headers, text } = await call(api.url, 'GET', `/transactions/${id}/${image}`, {
      token,
    })
    expect([status, text]).toEqual([409, '{"error":"Transaction is not pending"}'])
    expect(headers.get('x-error-code')).toBe('not_pending')
  }
})

test('422 for another size, and for a size of an SVG', async () => {
  const { transaction_id: id } = await createCharge()
  for (const size of ['199', '1001', '0400', '400px', '-400', '1e3', '4000']) {
    const { status, body } = await call(api.url, 'GET', `/transactions/${id}/qr.png?size=${size}`, {
      token,
    })
    expect([status, Object.keys(body.errors)], size).toEqual([422, ['size']])
  }
  expect((await getImage(`/transactions/${id}/qr.svg?size=400`)).status).toBe(422)
})
