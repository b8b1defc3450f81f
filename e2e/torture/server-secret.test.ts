import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keyId } from '#lib/core/keys.ts'
import { loadEnvFile } from '#lib/core/settings.ts'
import { makeDatabase, ownerUrlOf } from '#lib/testing/database.ts'
import { runTroco } from '#lib/testing/process.ts'
import { findFreePort } from '#lib/testing/server.ts'

const FIRST = 'first secret of these tests, 0123456789'
const SECOND = 'second secret of these tests, 0123456789'
const THIRD = 'third secret of these tests, 0123456789'

describe('the database knows its TROCO_SECRET', () => {
  let settings: Record<string, string>
  beforeAll(async () => {
    const url = await makeDatabase()
    settings = {
      ...{
        DATABASE_URL: url,
        DATABASE_OWNER_URL: ownerUrlOf(url),
        PORT: `${await findFreePort()}`,
      },
      PUBLIC_URL: 'https://pay.example.com',
      TROCO_ENV: 'production',
      SMTP_URL: '',
    }
  })

  const run = (args: string[], secret: string, before = '') =>
    runTroco(args, { ...settings, TROCO_SECRET: secret, TROCO_SECRET_BEFORE: before })

  test('with another one a server, a worker and a command refuse in one sentence that says what to do', async () => {
    expect(await run(['account', 'list'], FIRST)).toMatchObject({ code: 0 })
    for (const args of [['start'], ['worker'], ['account', 'list']]) {
      const { code, output } = await run(args, SECOND)
      expect(code, args.join(' ')).toBe(1)
      const [line = '', ...others] = output.trim().split('\n')
      expect(others).toEqual([])
      for (const part of [keyId(FIRST), keyId(SECOND), 'TROCO_SECRET_BEFORE', 'secret replace'])
        expect(line).toContain(part)
      expect(output).not.toContain(FIRST)
      expect(output).not.toContain(SECOND)
    }
    expect(await run(['account', 'list'], FIRST)).toMatchObject({ code: 0 })
  })

  test('a change names the former one as TROCO_SECRET_BEFORE, and from then on only the new one starts', async () => {
    expect(await run(['account', 'list'], SECOND, FIRST)).toMatchObject({ code: 0 })
    expect(await run(['account', 'list'], SECOND)).toMatchObject({ code: 0 })
    expect(await run(['account', 'list'], FIRST)).toMatchObject({ code: 1 })
    // A change back is a change like any other.
    expect(await run(['account', 'list'], FIRST, SECOND)).toMatchObject({ code: 0 })
  })

  test('secret replace accepts one although the former is lost', async () => {
    expect(await run(['account', 'list'], THIRD)).toMatchObject({ code: 1 })
    const { code, output } = await run(['secret', 'replace'], THIRD)
    expect(output).toContain(keyId(THIRD))
    expect(code).toBe(0)
    expect(await run(['account', 'list'], THIRD)).toMatchObject({ code: 0 })
  })
})

describe('a file of settings', () => {
  const folder = mkdtempSync(join(tmpdir(), 'troco-env-'))
  const isRoot = process.geteuid?.() === 0
  afterAll(() => {
    if (isRoot) process.seteuid?.(0)
    rmSync(folder, { recursive: true, force: true })
    delete process.env.TROCO_TEST_SETTING
  })

  test('counts as absent only if it does not exist', () => {
    expect(() => loadEnvFile(join(folder, 'absent'))).not.toThrow()
    mkdirSync(join(folder, 'a-folder'))
    expect(() => loadEnvFile(join(folder, 'a-folder'))).toThrow(
      /a-folder cannot be read \(EISDIR\)/,
    )
    symlinkSync(join(folder, 'nowhere'), join(folder, 'link'))
    expect(() => loadEnvFile(join(folder, 'link'))).toThrow(/link cannot be read \(ENOENT\)/)
    const file = join(folder, 'locked')
    writeFileSync(file, 'TROCO_TEST_SETTING=read')
    chmodSync(folder, 0o755)
    chmodSync(file, 0o000)
    if (isRoot) process.seteuid?.(65_534)
    expect(() => loadEnvFile(file)).toThrow(
      /locked cannot be read \(EACCES\): let this user read it/,
    )
    if (isRoot) process.seteuid?.(0)
    chmodSync(file, 0o600)
    loadEnvFile(file)
    expect(process.env.TROCO_TEST_SETTING).toBe('read')
  })
})
