import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openAt } from '#e2e/banks/open.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import { dayOf } from '#lib/core/locale.ts'
import { db } from '#lib/db/client.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'
import { runTroco, settingsBesideTest } from '#lib/testing/process.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'

inOwnDatabase()

const DAY = dayOf(new Date(Date.now() - 86_400_000))
const PATH = '/v2/gn/relatorios/'

let bank: RunningBank
let folder: string
let endToEndId: string
beforeAll(async () => {
  folder = makeScratchFolder('troco-statement-')
  bank = await startBank({ kind: 'efi', openingBalance: 10_000, reportQuestions: 0 })
  await openAt(bank, { name: 'Efí', kind: 'efi', receiving_keys: bank.keys })
  const clockOffsetMs = Date.parse(`${DAY}T15:00:00Z`) - Date.now()
  await bank.run('change', { clockOffsetMs })
  endToEndId = (await bank.run('pay', { key: bank.keys[0], amount: 5_000 }))[0]?.e2eid ?? ''
  await bank.run('change', { clockOffsetMs: 0 })
})
afterAll(async () => {
  await bank.stop()
  rmSync(folder, { recursive: true })
})

function printStatement(...args: string[]) {
  return runBank('statement', 'Efí', ...args)
}

/** Runs a command beside this test, in the same database. */
function runBank(...args: string[]) {
  return runTroco(['bank', ...args], settingsBesideTest(folder))
}

test('the statement of a day is printed with its balances', async () => {
  const { code, output } = await printStatement('--day', DAY)
  expect(output).toMatch(RegExp(`^${DAY}T15:.*Z\tpayment\t50\\.00\t${endToEndId}\t\t\t$`, 'm'))
  expect(output).toMatch(RegExp(`^${DAY}T15:.*Z\tpayment_fee\t-0\\.60\t${endToEndId}\t\t\t$`, 'm'))
  expect(output).toContain('Opening balance 100.00, closing balance 149.40, difference 0.00\n')
  expect(code).toBe(0)
})

test('a statement that leaves something open ends with 1 and says what', async () => {
  const record = `PZ;1;${endToEndId};50.00;${DAY}T15:00:00.000Z`
  const lines = ['Extrato;1.0', 'SD0;100.00;x', 'SD1;149.40;x', record, 'T;3']
  const body = `CA;Banco;364;1;5;Loja;${DAY};${DAY};${lines.join('\n')}\n`
  const headers = { 'content-type': 'text/csv' }
  await bank.run('addFault', {
    kind: 'respond',
    method: 'GET',
    path: PATH,
    status: 200,
    body,
    headers,
  })
  const { code, output } = await printStatement('--day', DAY)
  expect(output).toContain(`Not read: ${record}\n`)
  expect(output).toContain('Records that the bank counts and did not send: 2\n')
  expect(output).toContain('Opening balance 100.00, closing balance 149.40, difference 49.40\n')
  expect(code).toBe(1)
})

test('a report that could not be read is named, and read by its id without another order', async () => {
  await bank.run('addFault', { kind: 'respond', method: 'GET', path: PATH })
  const failed = await printStatement('--day', DAY)
  const [, report = ''] = /--report (\S+)`\n$/.exec(failed.output) ?? []
  expect(failed.code).toBe(1)
  const after = (await bank.run('readTraffic', {})).length
  expect((await printStatement('--day', DAY, '--report', report)).code).toBe(0)
  const methods = (await bank.run('readTraffic', { after })).map(({ method, target }) => [
    method,
    target,
  ])
  expect(methods.filter(([, target]) => target?.startsWith(PATH))).toEqual([['GET', PATH + report]])
})

test('a day that is not over, and text that is no day, are refused', async () => {
  const today = await printStatement('--day', dayOf(new Date()))
  expect(today).toEqual({
    code: 1,
    output: 'No statement: the bank reports days before today only\n',
  })
  expect((await printStatement('--day', 'ontem')).output).toContain('--day must be a date')
})

test('settings that let in payments of no charge are corrected once, unless the bank refuses', async () => {
  const fault = { kind: 'respond', method: 'PUT', path: '/v2/gn/config', status: 403 } as const
  await bank.run('addFault', { ...fault, body: '{"nome":"insufficient_scope"}' })
  const refused = await runBank('correct-settings', 'Efí')
  expect(refused.output).toMatch(
    /^Efí keeps its settings: .*insufficient_scope.* See `bank check`$/m,
  )
  expect(refused.code).toBe(1)
  const corrected = await runBank('correct-settings', 'Efí')
  expect(corrected.output).toMatch(
    /^receberSemChave\ntxidObrigatorio \(.+\)\nqrCodeEstatico\.recusarTodos \(.+\)\n$/,
  )
  expect(corrected.code).toBe(0)
  expect(await runBank('correct-settings', 'Efí')).toEqual({ code: 0, output: '' })
  const where = { action: 'connection.corrected' }
  expect(await db().auditRecord.findMany({ where })).toMatchObject([
    { after: { settings: corrected.output.trimEnd().split('\n') } },
  ])
})
