import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LOCALES } from '#lib/base/locale.ts'

/** Matches any key of a namespace, for keys that the code computes at run time. */
const ANY_KEY = '*'

type MessageTree = { [key: string]: string | MessageTree }

const ptBR = readMessages('pt-BR')
const otherLanguages = LOCALES.filter(locale => locale !== 'pt-BR').map(readMessages)

function readMessages(locale: string): MessageTree {
  const folder = `messages/${locale}`
  const files = readdirSync(folder).map(file => readFileSync(`${folder}/${file}`, 'utf8'))
  const namespaces = files.flatMap(text => Object.entries(JSON.parse(text) as MessageTree))
  expect(new Set(namespaces.map(([name]) => name)).size).toBe(namespaces.length)
  return Object.fromEntries(namespaces)
}

test('every message exists in every language and is not empty', () => {
  for (const messages of [ptBR, ...otherLanguages]) {
    expect(keysOf(messages)).toEqual(keysOf(ptBR))
    for (const key of keysOf(messages)) expect(messageAt(messages, key).trim(), key).not.toBe('')
  }
})

test('every translation uses the same placeholders and tags', () => {
  for (const messages of otherLanguages) {
    for (const key of keysOf(ptBR)) {
      expect(placeholdersIn(messageAt(messages, key)), key).toEqual(
        placeholdersIn(messageAt(ptBR, key)),
      )
    }
  }
})

// The compiler checks that every used message exists: see lib/edge/session/intl.ts.
test('every message is used', () => {
  const uses = sources().flatMap(usesIn)
  const unused = keysOf(ptBR).filter(key => !uses.some(use => use.test(key)))
  expect(unused).toEqual([])
})

/**
 * Returns patterns of the keys in t('a'), t(`a.${b}`), t(b), t.rich('a'), and words.a of crash.tsx.
 */
function usesIn(file: string): RegExp[] {
  const code = readFileSync(file, 'utf8')
  const namespaces = [...code.matchAll(/(?:use|get)Translations\(('\w+')?\)/g)].map(
    ([, quoted = '']) => quoted && `${quoted.slice(1, -1)}.`,
  )
  const calls = code.matchAll(/(?:\bt|\bt\.rich|\)\))\(\s*(?:'([\w.]+)'|`([^`]+)`|\w+\))/g)
  const keys = [...calls].map(([, plain, template]) => plain ?? template ?? ANY_KEY)
  // These pages do not use React, so no useTranslations call contains their namespace.
  if (file.startsWith('lib/views/payer/')) namespaces.push('payer.')
  if (file === 'lib/edge/http/refusal-page.ts') namespaces.push('refusal.')
  const used = namespaces.flatMap(namespace => keys.map(key => namespace + key))
  const crash = [...code.matchAll(/\bwords\.(\w+)/g)].map(([, key]) => `crash.${key}`)
  // CSV exports read their headings from the message files directly.
  const exportedFrom = file.endsWith('inbox/export.ts') ? 'inbox' : 'charges'
  const exported = [...code.matchAll(/\bt\.([\w.]+)/g)].map(([, key]) => `${exportedFrom}.${key}`)
  const extra = file.endsWith('crash.tsx')
    ? crash
    : /(charges-|inbox\/)export\.ts$/.test(file)
      ? exported
      : file === 'lib/services/mail/write.ts'
        ? ['mail.*.subject', 'mail.*.text', 'mailRole.*', 'mailChange.*', 'mailDecided.*']
        : []
  return [...used, ...extra].map(
    key => new RegExp(`^${key.replaceAll('.', '\\.').replaceAll(/\*|\$\{[^}]+\}/g, '\\w+')}$`),
  )
}

function sources(): string[] {
  const folders = ['app', 'components', 'lib/services/mail', 'lib/edge', 'lib/views']
  return folders.flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(file => /\.tsx?$/.test(file) && !file.endsWith('.test.ts'))
      .map(file => `${folder}/${file}`),
  )
}

function keysOf(messages: MessageTree, prefix = ''): string[] {
  return Object.entries(messages).flatMap(([key, value]) =>
    typeof value === 'string' ? [prefix + key] : keysOf(value, `${prefix}${key}.`),
  )
}

function messageAt(messages: MessageTree, key: string): string {
  const parts = key.split('.')
  const found = parts.reduce<MessageTree | string | undefined>(
    (inner, part) => (typeof inner === 'object' ? inner[part] : undefined),
    messages,
  )
  return typeof found === 'string' ? found : ''
}

function placeholdersIn(text: string): string[] {
  return [...text.matchAll(/\{(\w+)[,}]|<(\w+)>/g)].map(([whole]) => whole).sort()
}
