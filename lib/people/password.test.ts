import { stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { hashPassword, requireGoodPassword, verifyPassword } from '#lib/people/password.ts'
import { OUTDATED_HASH } from '#lib/testing/outdated-hash.ts'
import { measureCpuMs } from '#lib/testing/timing.ts'

test('the correct password is accepted, and any other is not', async () => {
  const encoded = await hashPassword('correct horse battery')
  expect(await verifyPassword('correct horse battery', encoded)).toBe(true)
  for (const wrong of ['', 'correct horse batterz', 'Correct horse battery', encoded]) {
    expect(await verifyPassword(wrong, encoded)).toBe(false)
  }
})

test('Unicode forms of the same characters are the same password', async () => {
  const composed = 'coração ﬁrme'
  const decomposed = 'corac\u0327a\u0303o firme'
  expect(composed).not.toBe(decomposed)
  expect(await verifyPassword(decomposed, await hashPassword(composed))).toBe(true)
  expect(await verifyPassword(composed, await hashPassword(decomposed))).toBe(true)
})

test('without a readable hash no password is accepted', async () => {
  for (const encoded of [
    null,
    '',
    'plain text',
    '$argon2id$v=19$m=47104,t=1,p=1$AAAA',
    '$argon2i$v=19$m=47104,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAA',
  ]) {
    expect(await verifyPassword('anything', encoded)).toBe(false)
    expect(await verifyPassword('', encoded)).toBe(false)
  }
})

test('each hash has its own salt and the cost that OWASP recommends', async () => {
  const [first, second] = await Promise.all([
    hashPassword('a password'),
    hashPassword('a password'),
  ])
  expect(first).not.toBe(second)
  expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  expect(first).not.toContain('password')
})

test('a hash with other cost parameters is accepted', async () => {
  expect(await verifyPassword('password', OUTDATED_HASH)).toBe(true)
  expect(await verifyPassword('Password', OUTDATED_HASH)).toBe(false)
})

test('an unknown e-mail takes as long as a wrong password', async () => {
  const encoded = await hashPassword('a password')
  const time = (hash: string | null) =>
    measureCpuMs(async () => {
      for (let index = 0; index < 3; index++) await verifyPassword('wrong', hash)
    })
  await time(encoded)
  const [known, unknown] = [await time(encoded), await time(null)]
  expect(unknown).toBeGreaterThan(known / 5)
})

test('many concurrent guesses do not block other work', async () => {
  let doneCount = 0
  const guesses = Array.from({ length: 12 }, async () => {
    await verifyPassword('x', null)
    doneCount += 1
  })
  // File operations share the few threads that compute hashes.
  await stat('.')
  expect(doneCount).toBeLessThan(6)
  await Promise.all(guesses)
})

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
