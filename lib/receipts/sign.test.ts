import { sign as signBytes } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import {
  createReceiptUrl,
  deriveSigningKey,
  formatFacts,
  parseReceipt,
  readCurrentKey,
  verifyReceipt,
} from '#lib/receipts/sign.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'
import { issueReceipt, RECEIPT_FACTS, signWith } from '#lib/testing/receipts.ts'

inOwnDatabase()

const { PUBLIC_URL, TROCO_SECRET = '' } = env()
const OTHER_SECRET = 'another-server-key-that-only-this-test-knows-0123'

afterEach(() => {
  supplyEnv({ PUBLIC_URL, TROCO_SECRET })
})

test('a receipt proves exactly what was signed, whatever the amount, mode, kind and time', async () => {
  const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const facts = fc.record({
    mode: fc.constantFrom('test' as const, 'live' as const),
    kind: fc.constantFrom('transaction' as const, 'withdrawal' as const),
    id: fc.uuid(),
    amount: fc.integer({ min: 1, max: 999_999_999_999 }),
    at: fc
      .date({ min: new Date('2020-01-01'), max: new Date('2090-01-01'), noInvalidDate: true })
      .map(date => date.toISOString().replace('Z', '917Z')),
    endToEndId: fc.string({
      unit: fc.constantFrom(...letters),
      minLength: 32,
      maxLength: 32,
    }),
  })
  await fc.assert(
    fc.asyncProperty(facts, async proven => {
      const verdict = await verifyReceipt(await issueReceipt(proven))
      expect(verdict).toMatchObject({ state: 'signed', facts: proven })
    }),
  )
})

test('a URL has only characters that need no encoding, and a single one per payment', async () => {
  const url = await createReceiptUrl(RECEIPT_FACTS)
  expect(url).toMatch(
    new RegExp(
      `^${PUBLIC_URL}/receipt/1\\.[\\w-]{16}\\.live\\.transaction\\.01a1fbb6bf1b7d409b0e5f0f2d1c88aa` +
        '\\.123456\\.20261121T012812004211Z\\.E00000000202611210128a1b2c3d4e5f\\.[\\w-]{86}$',
    ),
  )
  expect(await createReceiptUrl(RECEIPT_FACTS)).toBe(url)
})

describe('a forged receipt is refused:', () => {
  /** Replaces one of the nine parts. */
  const replace = (nth: number, change: (part: string) => string) => (text: string) =>
    text
      .split('.')
      .map((part, index) => (index === nth ? change(part) : part))
      .join('.')
  const swapCase = (part: string) =>
    part === part.toUpperCase() ? part.toLowerCase() : part.toUpperCase()
  const flipBit = (part: string) => {
    const bytes = Buffer.from(part, 'base64url')
    bytes[40] = (bytes[40] ?? 0) ^ 1
    return bytes.toString('base64url')
  }
  /** The same signature with S + L instead of S, which a careless verifier accepts. */
  const addGroupOrder = (part: string) => {
    const bytes = Buffer.from(part, 'base64url')
    const order = 2n ** 252n + 27742317777372353535851937790883648493n
    const s = BigInt(`0x${Buffer.from(bytes.subarray(32).toReversed()).toString('hex')}`) + order
    const high = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').toReversed()
    return Buffer.concat([bytes.subarray(0, 32), high]).toString('base64url')
  }
  const nextLetter = (part: string) => {
    const last = part.charCodeAt(part.length - 1)
    return part.slice(0, -1) + String.fromCharCode(last + 1)
  }

  test.each<[string, (text: string) => string]>([
    ['one cent more', replace(5, amount => String(Number(amount) + 1))],
    ['one cent less', replace(5, amount => String(Number(amount) - 1))],
    ['a zero in front of the amount', replace(5, amount => `0${amount}`)],
    ['a negative amount', replace(5, amount => `-${amount}`)],
    ['another id', replace(4, () => newId().replaceAll('-', ''))],
    ['the id in capitals', replace(4, id => id.toUpperCase())],
    ['another mode', replace(2, () => 'test')],
    ['a mode that does not exist', replace(2, () => 'prod')],
    ['another kind', replace(3, () => 'withdrawal')],
    ['one microsecond later', replace(6, time => time.replace('4211Z', '4212Z'))],
    ['a time without microseconds', replace(6, time => time.replace('004211Z', 'Z'))],
    ['another end-to-end id', replace(7, id => id.replace('E0', 'E1'))],
    ['the end-to-end id in another case', replace(7, swapCase)],
    ['no end-to-end id', replace(7, () => '')],
    ['another version', replace(0, () => '2')],
    ['the version with a zero', replace(0, () => '01')],
    ['another key id', replace(1, id => [...id].toReversed().join(''))],
    ['one bit of the signature', replace(8, flipBit)],
    ['a signature with S + L', replace(8, addGroupOrder)],
    ['another encoding of the same signature', replace(8, nextLetter)],
    ['a padded signature', text => `${text}==`],
    ['a signature of zeros', replace(8, () => 'A'.repeat(86))],
    ['no signature', text => text.slice(0, -87)],
    ['cut by one character', text => text.slice(0, -1)],
    ['one character appended', text => `${text}A`],
    ['a dot appended', text => `${text}.`],
    ['a line feed appended', text => `${text}\n`],
    ['a space in front', text => ` ${text}`],
    ['twice the same', text => `${text}.${text}`],
    ['a part twice', text => text.replace('.123456.', '.123456.123456.')],
    ['two parts exchanged', text => text.replace('live.transaction', 'transaction.live')],
    ['full-width digits', replace(5, () => '１２３４５６')],
    ['percent-encoded', text => text.replace('.', '%2E')],
    ['another separator', text => text.replaceAll('.', '~')],
    ['empty', () => ''],
  ])('%s', async (_name, change) => {
    const text = await issueReceipt()
    const forged = change(text)
    expect(forged).not.toBe(text)
    expect(await verifyReceipt(forged)).toEqual({ state: 'forged' })
    expect(await verifyReceipt(text)).toMatchObject({ state: 'signed' })
  })

  test('every single character is covered', async () => {
    const text = await issueReceipt()
    for (let index = 0; index < text.length; index++) {
      const other = text[index] === '1' ? '2' : '1'
      const forged = text.slice(0, index) + other + text.slice(index + 1)
      expect(await verifyReceipt(forged), forged).toEqual({ state: 'forged' })
    }
  })

  test('signed by an installation with another server key', async () => {
    supplyEnv({ TROCO_SECRET: OTHER_SECRET })
    const key = deriveSigningKey(1)
    supplyEnv({ TROCO_SECRET })
    expect(await verifyReceipt(signWith(key))).toEqual({ state: 'forged' })
    // The same signature, under the id of a key of this installation.
    const text = formatFacts((await readCurrentKey()).id, RECEIPT_FACTS)
    expect(await verifyReceipt(signWith(key, text))).toEqual({ state: 'forged' })
  })

  test('signed by a copy of this installation at another address', async () => {
    supplyEnv({ PUBLIC_URL: 'https://staging.shop.example' })
    const key = deriveSigningKey(1)
    supplyEnv({ PUBLIC_URL })
    expect(await verifyReceipt(signWith(key))).toEqual({ state: 'forged' })
  })

  test('a signature of the same text without the domain', async () => {
    const { id, privateKey } = await readCurrentKey()
    const text = formatFacts(id, RECEIPT_FACTS)
    const bare = signBytes(null, Buffer.from(text), privateKey).toString('base64url')
    expect(await verifyReceipt(`${text}.${bare}`)).toEqual({ state: 'forged' })
  })

  test('a later version, even with a valid signature', async () => {
    const key = await readCurrentKey()
    const text = formatFacts(key.id, RECEIPT_FACTS).replace('1.', '2.')
    expect(await verifyReceipt(signWith(key, text))).toEqual({ state: 'forged' })
  })
})

test('a text that is signed parses to the facts, and only then', async () => {
  const text = await issueReceipt()
  expect(parseReceipt(text)?.facts).toEqual(RECEIPT_FACTS)
  expect(parseReceipt(text.toUpperCase())).toBeNull()
})
