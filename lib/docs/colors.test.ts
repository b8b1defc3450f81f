import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { COLORS_CSS } from '#lib/core/colors.ts'
import { createPayerTexts, renderDocument, renderErrorPage } from '#lib/payer/document.ts'

const texts = createPayerTexts('en', null)
const payerPage = renderDocument(renderErrorPage('missing', texts, 0), texts, 'nonce')
const [style, script] = ['assets/style.css', 'render.ts'].map(name =>
  readFileSync(`lib/docs/${name}`, 'utf8'),
)
const documentation = `${COLORS_CSS}${style}${script}`

test.each([
  ["the payer's page", payerPage, 2],
  ['the documentation', documentation, 1],
])('%s has each color that its style uses, light and dark', (_, text, definitionCount) => {
  const names = new Set([...text.matchAll(/var\(--([\w-]+)\)/g)].map(([, name]) => name))
  expect(names.size).toBeGreaterThan(10)
  for (const name of names) {
    const definitions =
      text.match(new RegExp(`--${name}: ?(#|rgb|transparent|light-dark)`, 'g')) ?? []
    expect(definitions, name).toHaveLength(definitionCount)
  }
})

test('the dashboard names colors as variables only where app/colors.css declares them', () => {
  const files = globSync(['app/**/*.{css,tsx}', 'components/**/*.{ts,tsx}'])
  const sources = files.map(name => readFileSync(name, 'utf8')).join('')
  const names = [...sources.matchAll(/var\(--([\w-]+)\)/g)].map(([, name]) => name ?? '')
  const isDeclared = (name: string) =>
    sources.includes(`--${name}:`) || /^(radix-|font-(text|title|code)$)/.test(name)
  expect(names.filter(name => !isDeclared(name))).toEqual([])
})
