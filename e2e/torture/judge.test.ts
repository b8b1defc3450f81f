import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Client } from '#e2e/psp/client.ts'
import { makeHexId } from '#e2e/psp/formats.ts'
import { DOCUMENT_FILE } from '#e2e/psp/openapi.ts'
import type { Kind } from '#e2e/psp/settings.ts'
import { startBank } from '#e2e/psp/start.ts'
import type { Exchange } from '#e2e/psp/traffic.ts'

const PROGRAM = fileURLToPath(new URL('../psp/judge.ts', import.meta.url))
const CHARGE = {
  calendario: { expiracao: 600 },
  valor: { original: '5.00' },
  chave: '7d9f0335-8dcc-4054-9bf9-0dbd61d36906',
}

const folder = mkdtempSync(join(tmpdir(), 'traffic-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs in a folder beside which there is no document. */
function judge(...files: string[]) {
  const args = ['--disable-warning=ExperimentalWarning', PROGRAM, 'judge', ...files]
  const env = { ...process.env, BANK_TRAFFIC: folder, PIX_OPENAPI: '' }
  const { status, stdout } = spawnSync(process.execPath, args, { env, cwd: folder })
  return { status, output: stdout.toString() }
}

/** Lets a bank record a charge and its repetition, which it refuses. */
async function recordTraffic(kind: Kind): Promise<void> {
  const shared = process.env.BANK_TRAFFIC
  process.env.BANK_TRAFFIC = folder
  const bank = await startBank({ kind, keys: [CHARGE.chave] })
  process.env.BANK_TRAFFIC = shared ?? ''
  const client = new Client(bank)
  const path = `/v2/cob/${makeHexId()}`
  await client.call('PUT', path, CHARGE)
  await client.call('PUT', path, CHARGE)
  client.close()
  await bank.stop()
}

/** Changes the recorded requests that the bank refused, as if a program had sent them. */
function spoilRefused(text: string, wrong: string): void {
  for (const file of globSync(join(folder, '*.jsonl'))) {
    const exchanges: Exchange[] = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    const changed = exchanges.map(exchange => ({
      ...exchange,
      requestHeaders: { 'content-type': 'application/json' },
      requestBody:
        exchange.status === 409 ? exchange.requestBody.replace(text, wrong) : exchange.requestBody,
    }))
    writeFileSync(file, changed.map(exchange => JSON.stringify(exchange)).join('\n'))
  }
}

test('without traffic, or with none of Efí, a judge has failed', async () => {
  expect(judge()).toMatchObject({ status: 1, output: expect.stringContaining('no traffic') })
  await recordTraffic('api-pix')
  expect(judge()).toMatchObject({ status: 1, output: expect.stringContaining('no traffic of Efí') })
  for (const file of globSync(join(folder, '*.jsonl'))) rmSync(file)
})

describe('with the recorded traffic', () => {
  beforeAll(() => recordTraffic('efi'))

  test('with a document that it cannot read, a judge has failed', () => {
    const file = join(folder, 'other.yaml')
    writeFileSync(file, 'a: 1')
    expect(judge(file)).toMatchObject({
      status: 1,
      output: expect.stringContaining('could not run'),
    })
  })

  test("without the document, Efí's SDK judges alone, and the other judge says so", () => {
    const { status, output } = judge()
    expect(output).toContain("Efí's SDK: 1 requests, 1 responses, 0 objections")
    expect(output).toContain('this judge did not run')
    expect(status).toBe(0)
  })

  test.skipIf(!existsSync(DOCUMENT_FILE))('the document judges what the banks recorded', () => {
    const { status, output } = judge(resolve(DOCUMENT_FILE))
    expect(output).toContain('PUT /cob/{txid}: 2 requests, 2 responses')
    expect(output).toContain('not described: POST /oauth/token: 1 requests, 1 responses')
    expect(status).toBe(0)
  })

  test('a wrong request of a program has failed, although the bank refused it', () => {
    spoilRefused('"chave"', '"key"')
    const files = existsSync(DOCUMENT_FILE) ? [resolve(DOCUMENT_FILE)] : []
    const { status, output } = judge(...files)
    expect(output).toContain("Efí's SDK: 2 requests, 1 responses, 1 objections")
    if (files.length > 0) expect(output).toContain('PUT /cob/{txid}, request: /key is not declared')
    expect(status).toBe(1)
  })
})
