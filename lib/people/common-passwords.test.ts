import { expect, test } from 'vitest'
import { requireGoodPassword } from '#lib/people/common-passwords.ts'
import { measureCpuMs } from '#lib/testing/timing.ts'

const ANA = { email: 'ana.rocha@padaria.example', name: 'Ana Rocha' }

test.each([
  'password1234',
  '123456789012',
  'qwertyuiopas',
  '1q2w3e4r5t6y',
  'aaaaaaaaaaaa',
  'letmeinletmein',
  'x'.repeat(128),
  'minhasenha123',
  'Mudar@123456',
  'TrocoSenha2026',
  'troco-troco-troco',
  'ana.rocha@padaria.example',
  'AnaRocha2026!',
  'ＡｎａＲｏｃｈａ２０２６',
  'padaria-rochá-99',
])('%j is refused as easy to guess', async password => {
  const refused = requireGoodPassword(password, ANA)
  await expect(refused).rejects.toMatchObject({ code: 'invalid_input' })
  await expect(refused).rejects.toThrow(/^password is easy to guess: /)
})

test.each(['elevenchars', 'a\u0301e\u0301ıó', 'x'.repeat(129), ''])(
  '%j is refused as too short or too long',
  async password => {
    await expect(requireGoodPassword(password, ANA)).rejects.toThrow(
      'password must have 12 to 128 characters',
    )
  },
)

test.each([
  'cavalo correto bateria',
  'girassol verde 88',
  'coração firme 9',
  'hj4Kd92mXq0z',
  'ana viu o vento levar',
  'горячий чай зимой',
  '正しい馬の電池ホチキス留め',
  `${'Kd92mXq0'.repeat(16)}`,
])('%j is accepted', async password => {
  await requireGoodPassword(password, ANA)
})

test('the longest password is checked within 0.5 s, whatever its content', async () => {
  const hard = Array.from(
    { length: 128 },
    (_, index) => '4a@s$1i!l0o3e7t5z'[(index * 7) % 17],
  ).join('')
  await requireGoodPassword('girassol verde 88', ANA)
  const check = () => requireGoodPassword(hard, ANA).catch(() => {})
  expect(await measureCpuMs(check)).toBeLessThan(500)
})
