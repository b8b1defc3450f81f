import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LOCALES } from '#lib/base/locale.ts'

/** A key that only the running code knows: any one of its space. */
const ANY = '*'

type Words = { [key: string]: string | Words }

const ptBR = wordsOf('pt-BR')
const others = LOCALES.filter(locale => locale !== 'pt-BR').map(wordsOf)

/** Each file holds spaces of its own, and none of them stands in two. */
function wordsOf(locale: string): Words {
  const folder = `messages/${locale}`
  const files = readdirSync(folder).map(file => readFileSync(`${folder}/${file}`, 'utf8'))
  const spaces = files.flatMap(text => Object.entries(JSON.parse(text) as Words))
  expect(new Set(spaces.map(([name]) => name)).size).toBe(spaces.length)
  return Object.fromEntries(spaces)
}

test('every message stands in every language, and none is empty', () => {
  for (const words of [ptBR, ...others]) {
    expect(keysOf(words)).toEqual(keysOf(ptBR))
    for (const key of keysOf(words)) expect(textOf(words, key).trim(), key).not.toBe('')
  }
})

test('every language fills in the same values', () => {
  for (const words of others) {
    for (const key of keysOf(ptBR)) {
      expect(valuesIn(textOf(words, key)), key).toEqual(valuesIn(textOf(ptBR, key)))
    }
  }
})

// That every message which is used exists is what the compiler checks: see lib/edge/session/words.ts.
test('every message is used', () => {
  const uses = sources().flatMap(usesIn)
  const unused = keysOf(ptBR).filter(key => !uses.some(use => use.test(key)))
  expect(unused).toEqual([])
})

/** What one file may ask for: t('a'), t(`a.${b}`), t(b), t.rich('a'), and words.a of crash.tsx. */
function usesIn(file: string): RegExp[] {
  const code = readFileSync(file, 'utf8')
  const spaces = [...code.matchAll(/(?:use|get)Translations\(('\w+')?\)/g)].map(
    ([, quoted = '']) => quoted && `${quoted.slice(1, -1)}.`,
  )
  const calls = code.matchAll(/(?:\bt|\bt\.rich|\)\))\(\s*(?:'([\w.]+)'|`([^`]+)`|\w+\))/g)
  const keys = [...calls].map(([, plain, template]) => plain ?? template ?? ANY)
  // The payer's pages are no React: their one space is all that they know.
  if (file.startsWith('lib/views/payer/')) spaces.push('payer.')
  const asked = spaces.flatMap(space => keys.map(key => space + key))
  const crash = [...code.matchAll(/\bwords\.(\w+)/g)].map(([, key]) => `crash.${key}`)
  // What stands in a table that is saved is read from the file of messages itself.
  const written = [...code.matchAll(/\bt\.([\w.]+)/g)].map(([, key]) => `charges.${key}`)
  const extra = file.endsWith('crash.tsx')
    ? crash
    : file.endsWith('charges-export.ts')
      ? written
      : file === 'lib/services/mail/write.ts'
        ? ['mail.*.subject', 'mail.*.text', 'mailRole.*', 'mailChange.*']
        : []
  return [...asked, ...extra].map(
    key => new RegExp(`^${key.replaceAll('.', '\\.').replaceAll(/\*|\$\{[^}]+\}/g, '\\w+')}$`),
  )
}

function sources(): string[] {
  return ['app', 'components', 'lib/services/mail', 'lib/edge/session', 'lib/views'].flatMap(
    folder =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter(file => /\.tsx?$/.test(file) && !file.endsWith('.test.ts'))
        .map(file => `${folder}/${file}`),
  )
}

function keysOf(words: Words, prefix = ''): string[] {
  return Object.entries(words).flatMap(([key, value]) =>
    typeof value === 'string' ? [prefix + key] : keysOf(value, `${prefix}${key}.`),
  )
}

function textOf(words: Words, key: string): string {
  const parts = key.split('.')
  const found = parts.reduce<Words | string | undefined>(
    (inner, part) => (typeof inner === 'object' ? inner[part] : undefined),
    words,
  )
  return typeof found === 'string' ? found : ''
}

function valuesIn(text: string): string[] {
  return [...text.matchAll(/\{(\w+)[,}]|<(\w+)>/g)].map(([whole]) => whole).sort()
}
