import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { expectOneSale } from '../client/example-story.ts'
import { installShop } from './shop-packages.ts'

// Here, not with the other examples: Express comes with the packages of Vendure, not with Troco's.
test('the example on Express sells an order once', async () => {
  const folder = makeScratchFolder('troco-express-')
  symlinkSync(await installShop('e2e/shops/vendure'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  await expectOneSale(folder, {
    source: 'express.mjs',
    client: 'troco.js',
    program: process.execPath,
    args: () => ['express.mjs'],
  })
}, 600_000)
