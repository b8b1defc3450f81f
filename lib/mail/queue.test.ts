import { describe, expect, test } from 'vitest'
import { type Message, writeMail } from '#lib/mail/queue.ts'

const TO = 'ana@padaria.example'
const inBothLanguages = (message: Message) =>
  ['pt-BR', 'en'].map(locale => writeMail({ email: TO, locale }, message))

describe('a mail about withdrawals', () => {
  const common = { account: 'Padaria', ends: new Date(), path: '/x' }
  const messages = (mode: 'test' | 'live'): Message[] => [
    { kind: 'withdrawalWaiting', mode, ...common, amount: 'R$ 1,00', requester: 'Bia' },
    { kind: 'withdrawalsWaiting', mode, ...common, count: '2' },
  ]

  test.each(messages('test'))('$kind of test mode says so in subject and first line', message => {
    const [portuguese, english] = inBothLanguages(message)
    expect(portuguese?.subject).toMatch(/^\[Teste\] .*Padaria/)
    expect(portuguese?.text).toMatch(/^Modo de teste: nenhum dinheiro real .*\n\nOlá,/)
    expect(english?.subject).toMatch(/^\[Test\] .*Padaria/)
    expect(english?.text).toMatch(/^Test mode: no real money .*\n\nHello,/)
  })

  test.each(messages('live'))('$kind of live mode mentions no test', message => {
    for (const { subject, text } of inBothLanguages(message)) {
      expect(subject + text).not.toMatch(/\btest/i)
    }
  })
})

describe('a notice about a credential', () => {
  const at = new Date('2026-11-20T12:00:00Z')
  const notices = (ip: string | null): Message[] => [
    { kind: 'passwordChanged', at, ip },
    { kind: 'secondFactorChanged', at, ip, change: 'passkeyAdded' },
    { kind: 'wrongCodes', at, ip, count: '5' },
    { kind: 'openidLinked', at, ip, provider: 'Entrada' },
  ]

  test.each(notices('203.0.113.7'))('$kind names the address of the request', message => {
    const [portuguese, english] = inBothLanguages(message)
    expect(portuguese?.text).toContain('(horário de Brasília), a partir do IP 203.0.113.7')
    expect(english?.text).toContain('(Brasília time), from the IP 203.0.113.7')
  })

  test.each([...notices(null), ...notices('')])('$kind mentions no unknown address', message => {
    for (const { text } of inBothLanguages(message)) {
      expect(text).toMatch(/\((horário de Brasília|Brasília time)\)[.,:]/)
      expect(text).not.toMatch(/\bIP\b|[?{}]/)
    }
  })
})
