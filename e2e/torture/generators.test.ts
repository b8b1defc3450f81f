import { execFile, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { toOpenApi30 } from '#e2e/torture/openapi30.ts'
import { type Api, startApiWithMerchant } from '#lib/testing/fixtures.ts'

const run = promisify(execFile)
const PACKAGE = 'e2e/generators'
/** Inside the package, so that generated code finds what it imports. */
const FOLDER = resolve(PACKAGE, '.cache')
const into = (name: string) => join(FOLDER, name)
const hasProgram = (name: string, args = ['--version']) => spawnSync(name, args).status === 0
const hasPython = hasProgram('python3', ['-c', 'import certifi, dateutil, urllib3'])

const CHARGE = "client_name: 'Ana', client_email: 'ana@example.com', client_doc: '52998224725'"
/** What each TypeScript client calls, by a body whose amount is 5000, or the wrong '5000'. */
const PROGRAMS: Record<string, string> = {
  'hey-api': `import { createCharge } from './hey-api/index.ts'
    const made = await createCharge({ body: { amount: 5000, ${CHARGE} } })
    export const amount: number | undefined = made.data?.data.amount`,
  orval: `import { createCharge } from './orval/api.ts'
    const made = await createCharge({ amount: 5000, ${CHARGE} })
    export const amount: number | null = made.status === 200 ? made.data.data.amount : null`,
  oazapfts: `import { createCharge } from './oazapfts/api.ts'
    const made = await createCharge({ amount: 5000, ${CHARGE} })
    export const amount: number | null = made.status === 200 ? made.data.data.amount : null`,
  'swagger-typescript-api': `import { Api } from './swagger-typescript-api/api.ts'
    const made = await new Api().transactions.createCharge({ amount: 5000, ${CHARGE} })
    export const amount: number = made.data.data.amount`,
}

let api: Api
let token: string
beforeAll(async () => {
  ;({ api, token } = await startApiWithMerchant())
  await run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: PACKAGE })
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  const document = await (await fetch(`${api.url}/api/openapi.json`)).json()
  writeFileSync(into('openapi.json'), JSON.stringify(document))
  writeFileSync(into('openapi-3.0.json'), JSON.stringify(toOpenApi30(document)))
  await run(process.execPath, ['generate.mjs', into('openapi.json'), FOLDER], { cwd: PACKAGE })
})
afterAll(() => api.close())

test('each TypeScript client compiles, and refuses an amount that is text', async () => {
  const files: string[] = []
  for (const [name, text] of Object.entries(PROGRAMS)) {
    const wrong = text.replace('amount: 5000', "amount: '5000'")
    for (const [file, program] of [
      [`${name}.ts`, text],
      [`${name}.wrong.ts`, wrong],
    ] as const) {
      writeFileSync(into(file), program)
      files.push(file)
    }
  }
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    types: [],
    allowImportingTsExtensions: true,
  }
  writeFileSync(into('tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const tsc = resolve(PACKAGE, 'node_modules/typescript/bin/tsc')
  const { stdout } = await run(process.execPath, [tsc, '-p', FOLDER, '--pretty', 'false']).catch(
    error => error,
  )
  const errors = stdout.split(/\n(?=\S)/).map((line: string) => line.split('(')[0]?.trim())
  const wrong = Object.keys(PROGRAMS).map(name => `${PACKAGE}/.cache/${name}.wrong.ts`)
  expect(errors.filter(Boolean).sort(), stdout).toEqual(wrong.sort())
})

test.skipIf(!hasProgram('javac'))('the types in Java compile', async () => {
  const sources = globSync(into('quicktype-java/*.java'))
  expect(sources.length).toBeGreaterThan(50)
  mkdirSync(into('classes'))
  await run('javac', ['-d', into('classes'), ...sources])
})

test.skipIf(!hasPython)('the types in Python read what the API returns', async () => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({
    amount: 5_000,
    client_name: 'Ana',
    client_email: 'ana@example.com',
    client_doc: '52998224725',
    items: [{ name: 'Café', price: 2_500, quantity: 2 }],
  })
  await fetch(`${api.url}/api/transactions`, { method: 'POST', headers, body })
  const page = await (await fetch(`${api.url}/api/transactions`, { headers })).text()
  const program = `import json, sys
from troco_types import charge_page_from_dict
page = charge_page_from_dict(json.loads(sys.argv[1]))
print(json.dumps([[str(one.id), one.amount, one.status.value] for one in page.data]))`
  const { stdout } = await run('python3', ['-c', program, page], { cwd: into('quicktype-python') })
  const charges: Record<string, unknown>[] = JSON.parse(page).data
  expect(JSON.parse(stdout)).toEqual(charges.map(one => [one.id, one.amount, one.status]))
})

test.skipIf(!hasPython || !hasProgram('java'))(
  'the client in Python creates, reads and lists charges, and gets the code of a refusal',
  async () => {
    const jar = `${PACKAGE}/node_modules/@openapitools/openapi-generator-cli/bin/openapi-generator.jar`
    const names = ['--package-name', 'troco_client', '-g', 'python-experimental']
    const files = ['-i', into('openapi-3.0.json'), '-o', into('python')]
    await run('java', ['-jar', jar, 'generate', ...names, ...files], { maxBuffer: 1e8 })
    // A package that few machines have: the client compares values with its only one.
    writeFileSync(into('python/nulltype.py'), 'Null = object()\n')
    const { stdout } = await run(
      'python3',
      [resolve(PACKAGE, 'shop.py'), `${api.url}/api`, token],
      {
        env: { ...process.env, PYTHONPATH: into('python') },
      },
    )
    const shop = JSON.parse(stdout)
    const [id] = shop.created
    expect(shop).toMatchObject({
      created: [id, 5_000, 'pending'],
      replayed: id,
      listed: [id],
      read: [id, 'paid', { order: 1048 }],
      balance: 5_000,
      refusal: [422, 'invalid_input', { errors: expect.stringContaining('client_doc') }],
    })
  },
)
