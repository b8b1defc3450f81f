import { expect, test } from 'vitest'
import {
  mailUrl,
  type SharedCharge,
  whatsAppUrl,
  writeShareMessage,
} from '#app/[mode]/charges/[id]/share-message.ts'

const CHARGE: SharedCharge = {
  mode: 'live',
  merchant: 'Padaria São João & Cia',
  amount: 123_456,
  description: 'Mensalidade de {due}',
  expiresAt: '2026-11-22T02:30:00.000000Z',
  timeZone: 'America/Sao_Paulo',
  paymentUrl: 'https://pix.example/pay/x',
  receiptUrl: null,
}

test('before the payment the message names merchant, amount, due time and link', () => {
  expect(writeShareMessage(CHARGE, 'pt-BR')).toEqual({
    subject: 'Cobrança de Padaria São João & Cia: R$ 1.234,56',
    text: [
      'Padaria São João & Cia enviou uma cobrança Pix de R$ 1.234,56.',
      'Mensalidade de {due}',
      'Expira em 21/11/2026, 23:30.',
      'Para pagar: https://pix.example/pay/x',
    ].join('\n'),
  })
  const { text } = writeShareMessage({ ...CHARGE, description: undefined }, 'en')
  expect(text.split('\n')).toEqual([
    'Padaria São João & Cia sent you a Pix charge of R$ 1,234.56.',
    expect.stringMatching(/^Expires on 11\/21\/26, 11:30\sPM\.$/u),
    'To pay: https://pix.example/pay/x',
  ])
})

test('after the payment it has the receipt; in test mode it says so', () => {
  const receiptUrl = 'https://pix.example/receipt/r'
  const paid = { ...CHARGE, description: undefined, receiptUrl }
  expect(writeShareMessage({ ...paid, mode: 'test' }, 'pt-BR').text.split('\n')).toEqual([
    'Teste: nenhum dinheiro é movimentado.',
    'Padaria São João & Cia recebeu o seu Pix de R$ 1.234,56.',
    'Comprovante: https://pix.example/receipt/r',
  ])
})

test('links carry the whole message', () => {
  const text = 'a & b?\n100% #1'
  expect(new URL(whatsAppUrl(text)).searchParams.get('text')).toBe(text)
  const mail = new URL(mailUrl('ana+x&y@example.com', 'Á & B', text))
  expect(decodeURIComponent(mail.pathname)).toBe('ana+x&y@example.com')
  expect(mail.searchParams.get('subject')).toBe('Á & B')
  expect(mail.searchParams.get('body')).toBe('a & b?\r\n100% #1')
  expect([...mail.searchParams.keys()]).toEqual(['subject', 'body'])
})
