import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { findProgram, installPackages } from '../../lib/testing/debian.ts'
import { makeScratchFolder } from '../../lib/testing/scratch.ts'
import { expectOneSale } from './example-story.ts'

test('the example in PHP sells an order once', async () => {
  const folder = makeScratchFolder('troco-example-')
  const needed = "require '/usr/share/php/GuzzleHttp/autoload.php'; new PDO('sqlite::memory:');"
  const isThere = () => promisify(execFile)('php', ['-r', needed])
  await isThere().catch(async () => {
    await installPackages(['php-cli', 'php-curl', 'php-sqlite3', 'php-guzzlehttp-guzzle'])
    await isThere()
  })
  mkdirSync(join(folder, 'vendor'))
  const autoload = "<?php require '/usr/share/php/GuzzleHttp/autoload.php';"
  writeFileSync(join(folder, 'vendor/autoload.php'), autoload)
  const args = (port: number) => ['-S', `127.0.0.1:${port}`, 'shop.php']
  await expectOneSale(folder, { source: 'shop.php', client: 'Troco.php', program: 'php', args })
})

test('the example in Python sells an order once', async () => {
  const program = await findProgram('python3', ['python3'])
  expect(program, 'install python3').not.toBeNull()
  await expectOneSale(makeScratchFolder('troco-example-'), {
    source: 'shop.py',
    client: 'troco.py',
    program: program ?? '',
    args: () => ['shop.py'],
  })
})

test('the example for Next.js sells an order once', async () => {
  // Next finds its packages only in a folder above.
  const folder = resolve('.cache/example-nextjs')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  // Without one, Next takes the settings of the folder above.
  writeFileSync(join(folder, 'next.config.js'), 'export default {}')
  const next = resolve('node_modules/next/dist/bin/next')
  await expectOneSale(folder, {
    source: 'nextjs',
    client: 'troco.js',
    program: process.execPath,
    args: port => [next, 'dev', '-H', '127.0.0.1', '-p', String(port)],
  })
})
