import { afterEach, describe, expect, test } from 'vitest'
import { deriveKey, hmac, keyedHash, keyId, seal, unseal } from '#lib/core/keys.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import fc from '#lib/testing/property.ts'

const secret = env().TROCO_SECRET ?? ''
afterEach(() => supplyEnv({ TROCO_SECRET: secret }))

const otherSecret = 'another-server-key-that-only-this-test-knows-0123'

describe('an encrypted text', () => {
  test('decrypts for the row that it was encrypted for, whatever its content', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, context) => {
        expect(unseal(seal(text, context), context)).toBe(text)
      }),
    )
  })

  test('differs each time and reveals only the length of the text', () => {
    const [first, second] = [seal('whsec_secret', 'a'), seal('whsec_secret', 'a')]
    expect(Buffer.from(first)).not.toEqual(Buffer.from(second))
    expect(Buffer.from(first).includes('whsec')).toBe(false)
    expect(first).toHaveLength(12 + 16 + 'whsec_secret'.length)
  })

  test('does not decrypt for another row', () => {
    const sealed = seal('whsec_secret', 'row 1')
    expect(() => unseal(sealed, 'row 2')).toThrow(expect.objectContaining({ code: 'setup_failed' }))
  })

  test('does not decrypt with any single bit changed', () => {
    const sealed = seal('whsec_secret', 'row 1')
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = sealed.slice()
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(() => unseal(changed, 'row 1')).toThrow(/encrypted with another TROCO_SECRET/)
    }
  })

  test('does not decrypt when truncated to any length', () => {
    const sealed = seal('whsec_secret', 'row 1')
    for (let length = 0; length < sealed.length; length++) {
      const cut = () => unseal(sealed.slice(0, length), 'row 1')
      expect(cut, `${length} bytes`).toThrow(expect.objectContaining({ code: 'setup_failed' }))
    }
  })

  test('does not decrypt under another server key, which has another key id', () => {
    const sealed = seal('whsec_secret', 'row 1')
    const id = keyId()
    supplyEnv({ TROCO_SECRET: otherSecret })
    expect(() => unseal(sealed, 'row 1')).toThrow(expect.objectContaining({ code: 'setup_failed' }))
    expect(keyId()).not.toBe(id)
    supplyEnv({ TROCO_SECRET: secret })
    expect(unseal(sealed, 'row 1')).toBe('whsec_secret')
    expect(keyId()).toBe(id)
  })

  test.each([0, 11, 15, 28])('truncated to %i bytes does not decrypt', length => {
    const sealed = seal('whsec_secret', 'row 1').slice(0, length)
    expect(() => unseal(sealed, 'row 1')).toThrow()
  })
})

test('each purpose has its own key', () => {
  const purposes = ['api-tokens', 'webhook-secrets', 'next-auth'] as const
  const keys = purposes.map(purpose => deriveKey(purpose).export().toString('hex'))
  expect(new Set(keys).size).toBe(purposes.length)
  const hmacs = purposes.map(purpose => hmac(purpose, 'text').toString('hex'))
  expect(new Set(hmacs).size).toBe(purposes.length)
  const hashes = purposes.map(purpose => keyedHash(purpose, 'text'))
  expect(new Set(hashes).size).toBe(purposes.length)
  expect(keyedHash('api-tokens', 'text')).toBe(hashes[0])
  expect(keyedHash('api-tokens', 'text', 'another secret')).not.toBe(hashes[0])
  expect(hmac('api-tokens', 'text')).toEqual(hmac('api-tokens', 'text'))
})

test('without TROCO_SECRET nothing can be encrypted or hashed', () => {
  supplyEnv({ TROCO_SECRET: '' })
  expect(() => deriveKey('api-tokens')).toThrow(expect.objectContaining({ code: 'setup_failed' }))
  expect(() => seal('text', 'row')).toThrow(/TROCO_SECRET is not set/)
  expect(() => hmac('api-tokens', 'text')).toThrow(/TROCO_SECRET is not set/)
})
