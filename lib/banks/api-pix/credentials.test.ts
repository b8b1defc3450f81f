import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parseCredentials } from '#lib/banks/api-pix/credentials.ts'
import { Authority } from '#lib/testing/authority.ts'

const authority = new Authority()
afterAll(() => authority.close())

const { cert, key } = authority.issue()
const parse = (changes: object) =>
  parseCredentials(JSON.stringify({ client_id: 'id', client_secret: 'secret', ...changes }))
const p12 = (passphrase: string, ...options: '-legacy'[]) =>
  authority.pack(passphrase, ...options).toString('base64')
const messageOf = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    return (error as Error).message
  }
  return 'accepted'
}

describe('credentials are', () => {
  test.each<[string, object]>([
    ['a certificate and its key as PEM', { certificate: cert, private_key: key }],
    ['a p12 with a passphrase', { p12: p12('abc'), passphrase: 'abc' }],
    ['a p12 with an empty passphrase', { p12: p12('') }],
  ])('%s', (_, changes) => {
    expect(parse(changes)).toMatchObject({ clientId: 'id', clientSecret: 'secret' })
  })

  test.each<[string, object, string]>([
    ['no certificate', {}, 'either p12, or certificate and private_key'],
    ['two certificates', { certificate: cert, private_key: key, p12: 'AA==' }, 'either p12'],
    ['the wrong passphrase', { p12: p12('abc'), passphrase: 'abd' }, 'the passphrase of the p12'],
    ['the key of another certificate', mixed(), 'a readable certificate and its key'],
    ['a p12 that is none', { p12: 'AAAA' }, 'a readable certificate and its key'],
    ['a misspelt field', { certificate: cert, private_key: key, passphrse: 'x' }, 'unrecognized'],
    ['no client_id', { client_id: '', certificate: cert, private_key: key }, 'client_id'],
  ])('refused with %s, and not quoted', (_, changes, rule) => {
    const message = messageOf(() => parse({ ...changes, app_key: 'canary-of-the-bank' }))
    expect(message).toContain(rule)
    expect(message).toMatch(/^credentials must /)
    expect(message).not.toContain('canary')
  })

  test('refused if they are no JSON, and not quoted', () => {
    const message = messageOf(() => parseCredentials('{"client_secret": "canary'))
    expect(message).toContain('must be a JSON object')
    expect(message).not.toContain('canary')
  })
})

test.each<[string, string | undefined]>([
  ['with a passphrase', 'abc'],
  ['without one, as those of Efí', undefined],
])(
  'a p12 that this OpenSSL refuses, %s, is readable after the command that the message names',
  (_, passphrase) => {
    const message = messageOf(() => parse({ p12: p12(passphrase ?? '', '-legacy'), passphrase }))
    const command = message.split('Convert it with: ')[1] ?? ''
    const folder = mkdtempSync(join(tmpdir(), 'troco-p12-'))
    try {
      writeFileSync(join(folder, 'old.p12'), authority.pack(passphrase ?? '', '-legacy'))
      const { PASSPHRASE: _, ...inherited } = process.env
      const env = { ...inherited, ...(passphrase !== undefined && { PASSPHRASE: passphrase }) }
      execFileSync('sh', ['-c', command], { cwd: folder, env, stdio: 'ignore' })
      const converted = readFileSync(join(folder, 'new.p12')).toString('base64')
      expect(parse({ p12: converted, passphrase })).toMatchObject({ clientId: 'id' })
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
)

function mixed(): object {
  return { certificate: cert, private_key: authority.issue('other').key }
}
