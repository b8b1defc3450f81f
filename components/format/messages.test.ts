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

test('messages that the browser imports have no placeholders, which only the server can parse', () => {
  for (const messages of [ptBR, ...otherLanguages]) {
    const imported = { palette: messages.palette ?? '', crash: messages.crash ?? '' }
    for (const key of keysOf(imported)) expect(messageAt(messages, key), key).not.toMatch(/[{<]|''/)
  }
})

const TERMS = [
  { locale: 'en', not: /\bPIX\b/, use: 'Pix' },
  { locale: 'en', not: /\boperators?\b|\bwhoever\b/i, use: 'your administrator' },
  { locale: 'en', not: /\bsign-ins\b|\byour sign-in\b/i, use: 'login' },
  { locale: 'en', not: /\b(second|two) steps?\b/i, use: 'two-factor authentication' },
  { locale: 'en', not: /\bend-to-end id\b/, use: 'End-to-end ID (E2E)' },
  { locale: 'en', not: /\b(a|the|this|next|last|each) try\b/i, use: 'attempt' },
  { locale: 'en', not: /\bstate\b/i, use: 'status' },
  { locale: 'en', not: /\bin force\b/i, use: 'valid, active' },
  { locale: 'en', not: /\bthe books\b/i, use: 'the ledger, Troco' },
  { locale: 'en', not: /\bthe house\b|\bhouse money\b/i, use: 'own funds' },
  { locale: 'pt-BR', not: /\bPIX\b/, use: 'Pix' },
  { locale: 'pt-BR', not: /\boperador|\bquem (administra|opera)\b/i, use: 'o administrador' },
  { locale: 'pt-BR', not: /\brespons[áa]ve(l|is)\b(?! (por|pelo))|\bproprietári/i, use: 'dono' },
  {
    locale: 'pt-BR',
    not: /\bpedidos?\b/i,
    use: 'requisição',
    // An order of a shop, what a person asks for in a mail, and what a browser asks a person.
    except: /^newCharge\.referenceHint$|^mail\.|^factor\.passkey\.dismissed$/,
  },
  { locale: 'pt-BR', not: /\bendpoints?\b/i, use: 'destino' },
  { locale: 'pt-BR', not: /\bsegund[ao] (etapa|passo)\b/i, use: 'verificação em duas etapas' },
  { locale: 'pt-BR', not: /\bfim a fim\b|\bponta a ponta\b/i, use: 'ID da transação (E2E)' },
  { locale: 'pt-BR', not: /\bpedir saque\b|\bsaque pedido\b/i, use: 'solicitar' },
  { locale: 'pt-BR', not: /\breembols/i, use: 'devolução' },
  { locale: 'pt-BR', not: /\blivros\b/i, use: 'livro-razão, Troco' },
  { locale: 'pt-BR', not: /\bda casa\b/i, use: 'recursos próprios' },
]

test.each(TERMS)('no message in $locale says $not instead of $use', ({ locale, not, except }) => {
  const messages = readMessages(locale)
  const wrong = keysOf(messages).filter(
    key => not.test(withoutPlaceholders(messageAt(messages, key))) && !except?.test(key),
  )
  expect(wrong).toEqual([])
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
  // The page and the OpenAPI document list all of them.
  if (file === 'lib/edge/http/openapi-refusals.ts') return [/^apiErrors\.\w+\.(cause|remedy)$/]
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
        : file === 'lib/views/docs/site.ts'
          ? ['reference.tags.*']
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

function withoutPlaceholders(text: string): string {
  return text.replaceAll(/\{\w+[,}]|<\/?\w+>/g, '')
}

function placeholdersIn(text: string): string[] {
  return [...text.matchAll(/\{(\w+)[,}]|<(\w+)>/g)].map(([whole]) => whole).sort()
}
