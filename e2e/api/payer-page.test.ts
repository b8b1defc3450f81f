import { gzipSync } from 'node:zlib'
import { QRCodeSVG } from 'qrcode.react'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { suspendAccount } from '#lib/accounts/settings.ts'
import { cancelCharge } from '#lib/charges/cancel.ts'
import { createCharge } from '#lib/charges/create.ts'
import { describeCharge } from '#lib/charges/reveal.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { paymentUrl, txidsOfPage } from '#lib/charges/urls.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { renderQrCode } from '#lib/core/qr.ts'
import { db } from '#lib/db/client.ts'
import { cookieNames } from '#lib/session/read.ts'
import {
  type Api,
  CANARY,
  expectBalancedLedger,
  makeMerchant,
  startApi,
} from '#lib/testing/fixtures.ts'
import { signIn } from '#lib/testing/member.ts'

/** Payer data that the page must not reveal. */
const PAYER = {
  client_name: 'Canária da Silva Secreta',
  client_email: 'canary.payer@troco.example',
  client_doc: CANARY.formattedDocument,
  client_phone: '+55 11 98765-4321',
  ip: '203.0.113.77',
  metadata: { canary: 'canary-metadata' },
  utms: { canary: 'canary-utm' },
  items: [{ name: 'Pão <1 kg>', canary: 'canary-item' }],
}
const PORTUGUESE = { 'accept-language': 'pt-BR,pt;q=0.9' }

let api: Api
let merchant: Account
beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant('Padaria <São João> & "Filhos"')
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

async function createTestCharge(overrides: object = {}, account = merchant) {
  const external_id = `pedido <${newId()}> `
  return createCharge(
    account,
    'test',
    { amount: 123_456, external_id, ...PAYER, ...overrides },
    null,
  )
}

function pageUrl(id: string): string {
  return api.url + new URL(paymentUrl(id)).pathname
}

async function fetchPage(
  url: string,
  headers: Record<string, string> = PORTUGUESE,
  method = 'GET',
) {
  const response = await fetch(url, { headers, method })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function readState(id: string): Promise<string> {
  const response = await fetch(`${pageUrl(id)}?state=`)
  expect(response.headers.get('cache-control')).toBe('no-store')
  return ((await response.json()) as { state: string }).state
}

async function viewedAt(id: string): Promise<Date | null> {
  return (await db().charge.findFirstOrThrow({ where: { accountId: merchant.id, id } })).viewedAt
}

function expectNoPayerData(text: string): void {
  const { client_name, client_email, ip } = PAYER
  const payerData = [client_name, client_email, CANARY.document, CANARY.formattedDocument, ip]
  for (const value of [...payerData, '98765-4321', '987654321', 'canary', merchant.id]) {
    expect(text.toLowerCase()).not.toContain(value.toLowerCase())
  }
}

test('a preview of the link names merchant and amount, and nothing of the payer', async () => {
  const { id } = await createTestCharge()
  const { client_name: description } = PAYER
  await describeCharge(merchant.id, 'test', id, `Para ${description}`)
  const preview = async () => {
    const { text } = await fetchPage(pageUrl(id))
    return [...text.matchAll(/<meta (?:name|property)="([\w:]+)" content="([^"]*)">/g)].map(
      ([, name, content]) => `${name} ${content}`,
    )
  }
  const name = 'Padaria &#60;São João&#62; &#38; &#34;Filhos&#34;'
  const pending = await preview()
  expect(pending).toContain(`og:title R$\u00a01.234,56 para ${name}`)
  expect(pending).toContain('og:type website')
  expect(pending).toContain('robots noindex, nofollow')
  expect(pending.filter(tag => tag.startsWith('og:description Pague com Pix'))).toHaveLength(1)
  await simulateCharge(merchant.id, id, 'paid')
  const paid = await preview()
  expect(paid).toContain(`og:title Pagamento recebido · ${name}`)
  expect(paid).toContain(`og:description ${name} recebeu R$\u00a01.234,56.`)
  for (const tag of [...pending, ...paid]) expectNoPayerData(tag)
})

test('what a member wrote for the payer is on the page before and after the payment', async () => {
  const { id } = await createTestCharge()
  expect((await fetchPage(pageUrl(id))).text).not.toContain('class="what"')
  await describeCharge(merchant.id, 'test', id, 'Mensalidade <b>de</b> março')
  const shown = 'Mensalidade &#60;b&#62;de&#60;/b&#62; março'
  expect((await fetchPage(pageUrl(id))).text).toContain(`<p class="what">${shown}</p>`)
  await simulateCharge(merchant.id, id, 'paid')
  expect((await fetchPage(pageUrl(id))).text).toContain(`<dd>${shown}</dd>`)
})

describe('the path of a payment page', () => {
  test('identifies its charge and no other', () => {
    for (let count = 0; count < 50; count++) {
      const id = newId()
      const name = new URL(paymentUrl(id)).pathname.slice('/pay/'.length)
      expect(txidsOfPage(name)).toEqual([removeHyphens(id)])
      // Only two bits of the last character count; the other bits must not give a second path.
      expect(txidsOfPage(`${name.slice(0, -1)}B`)).toEqual([])
    }
  })

  test.each(['', 'a', 'a'.repeat(21), 'a'.repeat(23), `${'a'.repeat(21)}=`, newId(), '../../x'])(
    'is not %j',
    name => expect(txidsOfPage(name)).toEqual([]),
  )
})

describe('the page', () => {
  test('of a pending charge has code, QR code, amount, merchant and a test notice', async () => {
    const charge = await createTestCharge({ external_id: 'mesa 7 <b>' })
    const { status, text } = await fetchPage(pageUrl(charge.id))
    expect(status).toBe(200)
    expect(text).toContain('<html lang="pt-BR">')
    expect(text).toContain(
      'Pague R$\u00a01.234,56 para Padaria &#60;São João&#62; &#38; &#34;Filhos&#34;',
    )
    expect(text).toContain('mesa 7 &#60;b&#62;')
    expect(text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(code))).toContain(
      charge.br_code,
    )
    expect(text).toContain('Este código não funciona em nenhum banco')
    expect(text).toContain('<noscript><style')
    expect(text).toMatch(/<meta http-equiv="refresh" content="15"><\/noscript>/)
    expect(text).toContain(renderQrCode(charge.br_code).text)
    expectNoPayerData(text)
  })

  test('of a paid charge is a receipt without a code', async () => {
    const charge = await createTestCharge()
    const before = await readState(charge.id)
    const paid = await simulateCharge(merchant.id, charge.id, 'paid')
    expect(await readState(charge.id)).not.toBe(before)
    const { text } = await fetchPage(pageUrl(charge.id), { 'accept-language': 'fr, en;q=0.5' })
    for (const expected of [
      'Payment received',
      'R$\u00a01,234.56',
      paid.end_to_end_id ?? '',
      'Paid on',
    ]) {
      expect(text).toContain(expected)
    }
    for (const absent of ['br-code', 'qr-code', 'http-equiv', charge.br_code]) {
      expect(text).not.toContain(absent)
    }
    expectNoPayerData(text)
  })

  test('shows the items as they were sent, with what can be an amount or a quantity', async () => {
    const items = [
      { name: 'Café <1 kg>', quantity: 2, price: 4_500 },
      { name: 'Frete', quantity: '1', price: '990' },
      { name: ' ', price: 'grátis' },
      { quantity: 3, price: -1 },
      ...Array.from({ length: 20 }, () => ({ name: 'x'.repeat(300) })),
    ]
    const charge = await createTestCharge({ items })
    const listItems = (text: string) =>
      [...text.matchAll(/<li>(.*?)<\/li>/g)].map(([, item = '']) => item.replace(/<[^>]+>/g, '|'))
    const { text } = await fetchPage(pageUrl(charge.id))
    expect(listItems(text).slice(0, 5)).toEqual([
      '|Café &#60;1 kg&#62;||2 × R$\u00a045,00|',
      '|Frete||R$\u00a09,90|',
      '|Item|',
      '|3 × Item|',
      `|${'x'.repeat(80)}|`,
    ])
    expect(listItems(text)).toHaveLength(20)
    expect(text).toContain('e mais 4')
    await simulateCharge(merchant.id, charge.id, 'paid')
    expect(listItems((await fetchPage(pageUrl(charge.id))).text)).toHaveLength(20)
    expect(
      (await fetchPage(pageUrl((await createTestCharge({ items: [] })).id))).text,
    ).not.toContain('<li>')
  })

  test('leads to the receipt after the payment, and to the shop if it has an address', async () => {
    const shop = await makeMerchant('Loja com endereço')
    const { id } = await createTestCharge({}, shop)
    const linksOf = async () =>
      [...(await fetchPage(pageUrl(id))).text.matchAll(/<a class="(\w+)" href="([^"]+)">/g)].map(
        ([, look, href]) => `${look} ${href}`,
      )
    expect(await linksOf()).toEqual([])
    await simulateCharge(shop.id, id, 'paid')
    const [receipt = '', ...others] = await linksOf()
    expect(receipt).toMatch(/^go http:.+\/receipt\/1\./)
    expect(others).toEqual([])
    const address = new URL(receipt.slice(3)).pathname
    expect((await fetchPage(api.url + address)).text).toContain('Comprovante autêntico')
    await db().account.update({
      where: { id: shop.id },
      data: { shopUrl: 'https://shop.example/?a=1&b' },
    })
    expect(await linksOf()).toEqual([
      'go https://shop.example/?a=1&#38;b',
      receipt.replace('go', 'also'),
    ])
  })

  test('loads one font of its own, which is cached for good', async () => {
    const { id } = await createTestCharge()
    const { text } = await fetchPage(pageUrl(id))
    const urls = new Set(
      [...text.matchAll(/\/docs\/assets\/hanken\.woff2\?v=[\w-]{11}/g)].map(([url]) => url),
    )
    expect(urls.size).toBe(1)
    const response = await fetch(api.url + [...urls][0])
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect((await response.arrayBuffer()).byteLength).toBeLessThan(20_000)
  })

  test('of a refunded charge shows the amount and whether it is partial', async () => {
    const charge = await createTestCharge()
    await simulateCharge(merchant.id, charge.id, 'paid')
    await db().$executeRaw`
      UPDATE charges SET refunded_amount = 10000, refund_held_amount = 0
      WHERE account_id = ${merchant.id}::uuid AND id = ${charge.id}::uuid`
    const partly = await fetchPage(pageUrl(charge.id))
    expect(partly.text).toContain('Pago, com devolução parcial')
    expect(partly.text).toContain('R$\u00a0100,00')
    await db().$executeRaw`
      UPDATE charges SET refunded_amount = amount
      WHERE account_id = ${merchant.id}::uuid AND id = ${charge.id}::uuid`
    expect((await fetchPage(pageUrl(charge.id))).text).toContain('Valor devolvido')
    await db().$executeRaw`
      UPDATE charges SET refunded_amount = 0
      WHERE account_id = ${merchant.id}::uuid AND id = ${charge.id}::uuid`
  })

  test('of a failed or expired charge has no code, also before a worker has expired it', async () => {
    const [failed, expired, overdue] = [
      await createTestCharge(),
      await createTestCharge(),
      await createTestCharge(),
    ]
    await simulateCharge(merchant.id, failed.id, 'failed')
    await simulateCharge(merchant.id, expired.id, 'expired')
    await db().$executeRaw`
      UPDATE charges SET expires_at = now() - interval '1 second', due_at = NULL
      WHERE account_id = ${merchant.id}::uuid AND id = ${overdue.id}::uuid`
    expect((await fetchPage(pageUrl(failed.id))).text).toContain('A cobrança não foi concluída')
    for (const { id } of [expired, overdue]) {
      const { text } = await fetchPage(pageUrl(id))
      expect(text).toContain('Este código expirou')
      expect(text).not.toContain('br-code')
      // The simulator ends a charge before its time.
      expect(text.includes('Expirou em')).toBe(id === overdue.id)
      expectNoPayerData(text)
    }
    expect(await readState(overdue.id)).toBe('expired.0')
    await simulateCharge(merchant.id, overdue.id, 'paid')
    expect(await readState(overdue.id)).toBe('paid.0')
  })

  test('of a cancelled charge says so, with the time at which it was cancelled', async () => {
    const { id } = await createTestCharge()
    await cancelCharge({ accountId: merchant.id, mode: 'test' }, id)
    const { text } = await fetchPage(pageUrl(id))
    expect(text).toContain('Cobrança cancelada')
    expect(text).toContain('Cancelada em')
    expect(text).not.toMatch(/br-code|[Ee]xpirou/)
    expectNoPayerData(text)
    expect(await readState(id)).toBe('cancelled.0')
    await simulateCharge(merchant.id, id, 'paid')
    expect(await readState(id)).toBe('paid.0')
  })

  test.each([
    ['its own id', (id: string) => removeHyphens(id), false],
    ['an e-mail', () => `para ${newId()}@example.com`, false],
    ['the document', () => `cpf ${CANARY.document} ${newId()}`, false],
    ['the name', () => `${PAYER.client_name.toUpperCase()} ${newId()}`, false],
    ['the phone', () => `11 9 8765 4321 / ${newId()}`, false],
    ['any other text', () => `mesa ${newId()} 7`, true],
  ])('with a reference that is %s shows it: %s', async (_what, makeReference, isShown) => {
    const external_id = makeReference(newId())
    const charge = await createTestCharge(
      external_id.length === 32 ? { external_id: undefined } : { external_id },
    )
    const { text } = await fetchPage(pageUrl(charge.id))
    expect(text.includes('class="ref"')).toBe(isShown)
    if (isShown) expect(text).toContain(`Pedido ${external_id}`)
  })

  test('of a suspended account’s charge still has its code', async () => {
    const suspended = await makeMerchant('Loja parada')
    const charge = await createTestCharge({}, suspended)
    await suspendAccount(suspended.id, 'test', { type: 'system' })
    expect((await fetchPage(pageUrl(charge.id))).text).toContain('data-testid="br-code"')
  })

  test('has the language of the browser, unless ?lang selects another', async () => {
    const { id } = await createTestCharge()
    const languages: [string, string, string][] = [
      ['', 'pt-PT', 'pt-BR'],
      ['', 'de', 'en'],
      ['?lang=en', 'pt-BR', 'en'],
      ['?lang=pt', 'en-US', 'pt-BR'],
      ['?lang=%00', 'en-US', 'en'],
    ]
    for (const [query, acceptLanguage, shown] of languages) {
      const { text } = await fetchPage(pageUrl(id) + query, { 'accept-language': acceptLanguage })
      expect(text).toContain(`<html lang="${shown}">`)
    }
  })
})

describe('the response', () => {
  test('is not cached, indexed or framed, and its CSP allows only its own script', async () => {
    const { id } = await createTestCharge()
    const [first, second] = [await fetchPage(pageUrl(id)), await fetchPage(pageUrl(id))]
    const nonce = /<script nonce="([^"]+)">/.exec(first.text)?.[1]
    expect(second.text).not.toContain(nonce)
    expect(first.text.match(/<script/g)).toHaveLength(1)
    expect(first.text).not.toMatch(/ style="| on[a-z]+="|https?:\/\/(?!www\.w3\.org)/)
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'x-content-type-options': 'nosniff',
      'content-security-policy': [
        `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'`,
        "img-src data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'",
        "frame-ancestors 'none'",
      ].join('; '),
    })
    expect(first.headers.get('set-cookie')).toBeNull()
  })

  test('with the most items is smaller than 12 KB compressed', async () => {
    const long = await createTestCharge({
      amount: 999_999_999_999,
      external_id: `${newId()}${'x'.repeat(200)}`,
      items: Array.from({ length: 50 }, () => ({ name: newId(), quantity: 3, price: 1_234_567 })),
    })
    const { text } = await fetchPage(pageUrl(long.id))
    expect(gzipSync(text).byteLength).toBeLessThan(12_000)
    expect(Buffer.byteLength(text)).toBeLessThan(30_000)
  })

  test('to HEAD has the same headers without a body and counts no visit', async () => {
    const { id } = await createTestCharge()
    const { status, headers, text } = await fetchPage(pageUrl(id), PORTUGUESE, 'HEAD')
    expect([status, text, headers.get('content-type')]).toEqual([
      200,
      '',
      'text/html; charset=utf-8',
    ])
    expect(await viewedAt(id)).toBeNull()
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('to %s is 405', async method => {
    const { id } = await createTestCharge()
    const { status, headers } = await fetchPage(pageUrl(id), {}, method)
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  test.each([
    'AAAAAAAAAAAAAAAAAAAAAA',
    'x',
    '%00',
    '%zz',
    '%2e%2e%2fapi',
    '%F0%9F%A6%8A',
    "'--",
    '%ff',
    'a/b',
    'a'.repeat(8_000),
    '<script>',
    'x?state',
    '__proto__',
    newId(),
  ])('to an unknown or malformed path is always the same 404 page: %s', async name => {
    const response = await fetchPage(`${api.url}/pay/${name}`)
    expect([response.status, response.headers.get('x-robots-tag')]).toEqual([
      404,
      'noindex, nofollow',
    ])
    expect(response.headers.get('x-error-code')).toBe('transaction_not_found')
    expect(response.text).toContain('Link de pagamento não encontrado')
    expect(response.text).not.toMatch(/<script|http-equiv/)
  })

  test('ignores a trailing slash', async () => {
    const { id } = await createTestCharge()
    expect((await fetchPage(`${pageUrl(id)}/`)).status).toBe(200)
  })
})

describe('the first visit', () => {
  test('is stored once and changes nothing else of the charge', async () => {
    const charge = await createTestCharge()
    const before = await db().charge.findFirstOrThrow({ where: { id: charge.id } })
    await Promise.all(Array.from({ length: 8 }, () => fetchPage(pageUrl(charge.id))))
    const after = await db().charge.findFirstOrThrow({ where: { id: charge.id } })
    expect(after.viewedAt).not.toBeNull()
    await fetchPage(pageUrl(charge.id))
    const later = await db().charge.findFirstOrThrow({ where: { id: charge.id } })
    expect(later).toEqual(after)
    expect({ ...after, viewedAt: null }).toEqual(before)
  })

  test.each([
    ['the page’s own polling', '?state', {}],
    ['a browser’s prefetch', '', { 'sec-purpose': 'prefetch;prerender' }],
    ['a messenger’s preview', '', { 'user-agent': 'WhatsApp/2.23' }],
  ])('is not %s', async (_what, query, headers) => {
    const { id } = await createTestCharge()
    await fetchPage(pageUrl(id) + query, { ...headers })
    expect(await viewedAt(id)).toBeNull()
  })

  test('is not the visit of a signed-in member', async () => {
    const { id } = await createTestCharge()
    const cookie = `a=b; ${cookieNames().session}=${await signIn(merchant, 'owner')}`
    await fetchPage(pageUrl(id), { cookie })
    expect(await viewedAt(id)).toBeNull()
  })
})

test('the QR code equals the code of another library, module by module, with its quiet zone', () => {
  for (let count = 0; count < 12; count++) {
    const text = `00020101021226770014br.gov.bcb.pix2555pix.example.test/qr/v2/${removeHyphens(newId())}`
    const expectedSvg = renderToStaticMarkup(
      createElement(QRCodeSVG, { value: text, level: 'M', boostLevel: false, marginSize: 4 }),
    )
    const modules = listDarkModules(renderQrCode(text).text, /stroke="#17211d" d="([^"]+)"/)
    expect(modules).toEqual(listDarkModules(expectedSvg, /fill="#000000" d="([^"]+)"/))
    const rows = modules.map(position => Number(position.split(',')[1]))
    expect(Math.min(...rows)).toBe(4)
  }
})

/** Finds the dark modules in a drawing of horizontal strokes or of boxes one module high. */
function listDarkModules(svg: string, drawing: RegExp): string[] {
  const modules: string[] = []
  let [x, y] = [0, 0]
  const steps = drawing.exec(svg)?.[1]?.matchAll(/([Mmhv])([\d.]+)(?:[ ,]+([\d.]+))?/g) ?? []
  for (const [, step, first, second] of steps) {
    if (step === 'M') [x, y] = [Number(first), Math.floor(Number(second))]
    if (step === 'm') x += Number(first)
    if (step !== 'h') continue
    for (let offset = 0; offset < Number(first); offset++) modules.push(`${x + offset},${y}`)
    x += Number(first)
  }
  return modules.sort()
}
