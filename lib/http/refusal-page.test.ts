import { expect, test } from 'vitest'
import { refuse } from '#lib/core/errors.ts'
import { buildPageRefusal } from '#lib/http/refusal-page.ts'

test.each([
  ['malformed', 'Este endereço não funciona', 'This address does not work'],
  ['busy', 'Muitas requisições em pouco tempo', 'Too many requests'],
  ['overloaded', 'O servidor está ocupado', 'The server is busy'],
] as const)(
  'a refusal because of "%s" is a page in the language of the browser',
  (reason, portuguese, english) => {
    const error = refuse('service_unavailable')
    const refusal = { error, reason, headers: { 'retry-after': '7' } }
    for (const [language, title] of [
      ['pt-BR', portuguese],
      ['en', english],
    ] as const) {
      const headers = { accept: 'text/html', 'accept-language': language }
      const { status, text } = buildPageRefusal(refusal, headers)
      expect([status, text.includes(`<h1>${title}</h1>`)]).toEqual([503, true])
      if (reason !== 'malformed') expect(text).toContain('7 s')
    }
    const { text } = buildPageRefusal(refusal, { accept: 'application/json' })
    expect(JSON.parse(text)).toEqual({ error: error.message })
  },
)
