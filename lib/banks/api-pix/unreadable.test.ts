import { expect, test } from 'vitest'
import { describeUnread } from '#lib/banks/api-pix/read.ts'

const ID = 'E12345678202611201200abcdefghij1'

test('an entry is named by its id, and by all of it without one', () => {
  expect(describeUnread({ endToEndId: ID, valor: 'x' })).toMatchObject({ key: ID, txid: null })
  const [one, same, other] = [{ valor: 'a' }, { valor: 'a' }, { valor: 'b' }].map(describeUnread)
  expect(one?.key).toBe(same?.key)
  expect(one?.key).not.toBe(other?.key)
  for (const entry of [null, 'text', [1], { endToEndId: 'a b' }])
    expect(describeUnread(entry).key).toMatch(/^[0-9a-f]{64}$/)
})

test('what the bank sent is shown without persons, documents and texts that cannot be stored', () => {
  const { sent } = describeUnread({
    endToEndId: ID,
    txid: '52998224725',
    valor: '529.982.247-25',
    horario: 'ontem\0\ud800',
    pagador: { cpf: '52998224725', nome: 'Ana' },
    infoPagador: 'Ana',
    chave: 'ana@a.example',
    '52998224725': null,
    nota: '11.222.333/0001-81',
  })
  expect(JSON.parse(sent)).toEqual({
    endToEndId: ID,
    txid: '***',
    valor: '***',
    horario: 'ontem\ufffd',
    pagador: '***',
    infoPagador: '***',
    chave: '***',
    '***': null,
    nota: '***',
  })
  expect(describeUnread({ valor: 12.345 }).sent).toBe('{"valor":12.345}')
})
