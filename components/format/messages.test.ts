import { readdirSync, readFileSync } from 'node:fs'
import compile from 'icu-minify/compile'
import { beforeAll, expect, test } from 'vitest'
import { LOCALES } from '#lib/core/locale.ts'
import { findMessageUses, type MessageUse } from '#lib/testing/message-uses.ts'

const API_DOCUMENT = 'messages/document.pt-BR.json'

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
  {
    locale: 'en',
    not: /\b(second|two) steps?\b|\bsecond factors?\b/i,
    use: 'two-factor authentication',
  },
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
    except: /^newCharge\.referenceHint$|^payer\.order$|^mail\.|^factor\.passkey\.dismissed$/,
  },
  { locale: 'pt-BR', not: /\bendpoints?\b/i, use: 'destino' },
  {
    locale: 'pt-BR',
    not: /\bsegund[ao] (etapa|passo|fator)\b/i,
    use: 'verificação em duas etapas',
  },
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

test.each(TERMS)(
  'no guide and no description of the API in $locale says $not',
  ({ locale, not }) => {
    const texts = prosePages(locale)
    expect(texts.length).toBeGreaterThan(100)
    const wrong = texts.flatMap(({ name, text }) =>
      text
        .split(/\n{2,}/)
        .map(paragraph => paragraph.replaceAll(/\s+/g, ' '))
        .filter(paragraph => not.test(paragraph.replaceAll(SHOP_ORDER, '')))
        .map(paragraph => `${name}: ${paragraph}`),
    )
    expect(wrong).toEqual([])
  },
)

/** In Portuguese, the order of a shop, which callers use as their key. */
const SHOP_ORDER = /\bo número do pedido\b/g

/** README.md, the guides and the descriptions of the API document with their translations, without code. */
function prosePages(locale: string): { name: string; text: string }[] {
  const folder = `docs/guides/${locale}`
  const paths = readdirSync(folder).map(file => `${folder}/${file}`)
  if (locale === 'en') paths.push('README.md')
  const translations: Record<string, string> = JSON.parse(readFileSync(API_DOCUMENT, 'utf8'))
  const document = locale === 'en' ? Object.keys(translations) : Object.values(translations)
  return [
    ...paths.map(name => ({ name, text: readFileSync(name, 'utf8') })),
    ...document.map(text => ({ name: API_DOCUMENT, text })),
  ].map(({ name, text }) => ({ name, text: text.replaceAll(/^```.*?^```|`[^`]*`/gms, '') }))
}

let messageUses: MessageUse[] = []
beforeAll(() => {
  messageUses = findMessageUses(sources())
}, 120_000)

// The compiler checks that every used message exists: see lib/session/intl.ts.
test('every message is used', () => {
  const found = new Set(messageUses.map(({ keys }) => keys.source))
  const uses = [...[...found].map(key => new RegExp(key)), ...ELSEWHERE, ...usesOfTrial()]
  expect(uses.length).toBeGreaterThan(1_000)
  expect(keysOf(ptBR).filter(key => !uses.some(use => use.test(key)))).toEqual([])
})

/** Texts with Markdown or HTML, and those of refusals, which fill in the one argument that they know. */
const NOT_ICU = /^(apiErrors|reference|refusal)\./

test('every call gives each argument and tag of its message, in every language', () => {
  const needed = [ptBR, ...otherLanguages].flatMap(messages =>
    keysOf(messages)
      .filter(key => !NOT_ICU.test(key))
      .map(key => [key, argumentsIn(messageAt(messages, key))] as const),
  )
  const withArguments = needed.filter(([, names]) => names.size > 0)
  expect(withArguments.length).toBeGreaterThan(500)
  const calls = messageUses.flatMap(({ given, ...use }) => (given ? [{ ...use, given }] : []))
  const missing = calls.flatMap(({ keys, given, place }) =>
    withArguments
      .filter(([key]) => keys.test(key))
      .flatMap(([key, names]) => [...names.difference(given)].map(name => [key, name]))
      .map(([key, name]) => `${place} gives no {${name}} to ${key}`),
  )
  expect([...new Set(missing)]).toEqual([])
})

test('arguments are found in plural forms, choices, tags and dates', () => {
  expect(argumentsIn('{count, plural, one {# of {all}} other {itens}}')).toEqual(
    new Set(['count', 'all']),
  )
  expect(argumentsIn('<b>{who}</b> {at, date, short} {kind, select, x {{y}} other {}}')).toEqual(
    new Set(['b', 'who', 'at', 'kind', 'y']),
  )
  expect(argumentsIn('none')).toEqual(new Set())
})

/** All of them are listed: errors on their page and in the OpenAPI document, tags in the navigation. */
const ELSEWHERE = [/^apiErrors\./, /^reference\.tags\./]

/** The script that tries a request is given the words as JSON. */
function usesOfTrial(): RegExp[] {
  const script = readFileSync('lib/docs/assets/trial.js', 'utf8')
  return [...script.matchAll(/\bwords\.(\w+)/g)].map(([, key]) => RegExp(`^reference\\.${key}$`))
}

function sources(): string[] {
  const folders = ['app', 'components', 'lib']
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

/** Returns the names of a message's arguments and tags, those inside its plural forms included. */
function argumentsIn(message: string): Set<string> {
  const names = new Set<string>()
  const visit = (part: unknown): void => {
    if (!Array.isArray(part)) return
    const [name, ...rest] = part
    if (typeof name === 'string') names.add(name)
    for (const inner of rest) visitInside(inner)
  }
  const visitInside = (part: unknown): void => {
    if (Array.isArray(part)) visit(part)
    else if (typeof part === 'object' && part !== null)
      for (const option of Object.values(part)) if (Array.isArray(option)) option.forEach(visit)
  }
  const compiled = compile(message)
  if (Array.isArray(compiled)) compiled.forEach(visit)
  return names
}

function withoutPlaceholders(text: string): string {
  return text.replaceAll(/\{\w+[,}]|<\/?\w+>/g, '')
}

function placeholdersIn(text: string): string[] {
  return [...text.matchAll(/\{(\w+)[,}]|<(\w+)>/g)].map(([whole]) => whole).sort()
}
