import { expect, test } from '#e2e/browser/app.ts'
import { addSession, connectToApplication, createSession } from '#e2e/browser/merchant.ts'
import { findUnreadable } from '#e2e/browser/text-layout.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'

const NAME = 'Companhia Paranaense de Energia e Saneamento'
const RAIL = '<nav style="position: fixed; inset: 0 auto 0 0; width: 236px">Charges</nav>'

/** A table of 900 px in less room: the columns keep their share, the amounts their width. */
const table = (width: number) => `
  <table style="width: ${width}px; table-layout: fixed; white-space: nowrap">
    <tr><td>R$ 9.999.999,99</td><td>R$ 9.999.999,99</td><td>26 de novembro de 2026</td></tr>
  </table>`

/** Each fault, with a fragment of a page that has it and one that does not. */
const FRAGMENTS: [found: RegExp, broken: string, sound: string][] = [
  [/^the page is \d+ px wide/, `<p style="width: 2000px">${NAME}</p>`, `<p>${NAME}</p>`],
  [/^over each other: R\$ 9/, table(180), table(900)],
  [
    /^outside: R\$ 9/,
    '<div style="width: 60px; display: flex; justify-content: end"><span style="white-space: nowrap">R$ 9.999.999,99</span></div>',
    '<div style="width: 160px"><span style="white-space: nowrap">R$ 9.999.999,99</span></div>',
  ],
  [
    /^in a column: Compa/,
    `<p style="width: 20px; overflow-wrap: anywhere">${NAME}</p>`,
    `<p style="width: 120px; overflow-wrap: anywhere">${NAME}</p>`,
  ],
  [
    /^cut off: Compa/,
    `<p style="width: 90px; overflow: hidden; white-space: nowrap">${NAME}</p>`,
    `<p style="width: 90px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis">${NAME}</p>`,
  ],
  [
    /^cut off: Compa/,
    `<div role="dialog" style="width: 90px; overflow-y: auto; white-space: nowrap">${NAME}</div>`,
    `<div style="width: 90px; overflow-y: auto; white-space: nowrap">${NAME}</div>`,
  ],
  [
    /^shortened to a few letters: Compa/,
    `<p style="width: 40px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis">${NAME}</p>`,
    `<p style="width: 160px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis">${NAME}</p>`,
  ],
  [
    /^under a bar: Compa/,
    `${RAIL}<main style="margin-left: 68px">${NAME}</main>`,
    `${RAIL}<main style="margin-left: 236px">${NAME}</main>`,
  ],
  [
    /^over each other: Charges/,
    '<nav style="position: fixed; top: 0">Charges<span style="position: absolute; left: 4px">Withdrawals</span></nav>',
    '<nav style="position: fixed; top: 0">Charges <span>Withdrawals</span></nav>',
  ],
]

test('texts that cannot be read are found', { tag: '@one-size' }, async ({ page }) => {
  await page.setViewportSize({ width: 1024, height: 600 })
  for (const [found, broken, sound] of FRAGMENTS) {
    await page.setContent(broken)
    expect(await findUnreadable(page)).toContainEqual(expect.stringMatching(found))
    await page.setContent(sound)
    expect(await findUnreadable(page), sound).toEqual([])
  }
})

test.describe('in Portuguese', () => {
  test.use({ locale: 'pt-BR', viewport: { width: 360, height: 740 } })

  test('the first steps of a new account can be read', async ({ page, context }) => {
    await connectToApplication()
    const { id: accountId } = await makeMerchant()
    await addSession(context, await createSession({ accountId, role: 'owner' }))
    await page.goto('/test/home')
    await expect(page.getByRole('main').getByRole('link', { name: 'Banco simulado' })).toBeVisible()
    expect(await findUnreadable(page)).toEqual([])
  })
})
