import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { TrocoError } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { Invariant, isInvariant } from '#lib/core/invariant.ts'
import { describeError, log, openLogOutput, withLogContext } from '#lib/core/log.ts'
import { inheritedEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { CANARY } from '#lib/testing/canary.ts'
import { fundMerchant, makeMerchant } from '#lib/testing/fixtures.ts'
import { findLeak, findRepeatedKey } from '#lib/testing/log-search.ts'
import { TEST_LOG } from '#lib/testing/setup.ts'

function readLogLines(mark: string): Record<string, unknown>[] {
  return readFileSync(TEST_LOG, 'utf8')
    .split('\n')
    .filter(line => line.includes(mark))
    .map(line => JSON.parse(line))
}

test('each line has role, host, the request id and, once known, the account id', async () => {
  const mark = newId()
  await withLogContext({ requestId: 'r-1' }, async context => {
    log().info(`before ${mark}`)
    context.accountId = 'a-1'
    await Promise.resolve()
    log().info(`after ${mark}`)
  })
  log().info(`outside ${mark}`)
  const [before, after, outside] = readLogLines(mark)
  expect(before).toMatchObject({ requestId: 'r-1', level: 'info' })
  for (const line of [before, after, outside])
    expect(line).toMatchObject({ role: 'command', host: hostname() })
  expect(before).not.toHaveProperty('accountId')
  expect(after).toMatchObject({ requestId: 'r-1', accountId: 'a-1' })
  expect(outside).not.toHaveProperty('requestId')
})

test('values of sensitive fields are hidden, also one level down', () => {
  const mark = newId()
  log().info({ password: CANARY.password, request: { pix_key: CANARY.pixKey } }, mark)
  const [line] = readLogLines(mark)
  expect(line).toMatchObject({ password: '[hidden]', request: { pix_key: '[hidden]' } })
})

test('a database error is logged with code, constraint and table, but no row data', async () => {
  const merchant = await makeMerchant()
  await fundMerchant(merchant, 5_000)
  const broken = db().charge.updateMany({
    where: { accountId: merchant.id },
    data: { clientDoc: CANARY.document, amount: 1n },
  })
  const error = await broken.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  const described = describeError(error)
  expect(described).toMatchObject({ code: '23514', reason: 'CHECK violated' })
  const mark = newId()
  log().error({ err: error }, mark)
  expect(JSON.stringify(readLogLines(mark))).not.toMatch(
    new RegExp(`${CANARY.document}|Failing row|Ana`),
  )
})

test('an unknown error is logged by kind, without its message; a refusal with its message', () => {
  expect(JSON.stringify(describeError(new Error(CANARY.document)))).not.toContain(CANARY.document)
  expect(describeError(new Error('x'))).toMatchObject({ kind: 'Error' })
  expect(describeError(new TypeError('x is not a function'))).toMatchObject({
    message: 'x is not a function',
  })
  const refusal = new TrocoError('not_found', 'Not found')
  expect(describeError(refusal)).toMatchObject({ code: 'not_found', message: 'Not found' })
  expect(describeError(CANARY.document)).toEqual({ kind: 'string' })
})

test('a broken invariant is logged with message and stack, even if its class was loaded twice', () => {
  const twin = class extends Error {
    override name = 'Invariant'
  }
  const id = newId()
  for (const error of [
    new Invariant(`charge ${id} is missing`),
    new twin(`refund ${id} is open`),
  ]) {
    expect(isInvariant(error)).toBe(true)
    const mark = newId()
    log().error({ err: error }, mark)
    const [line] = readLogLines(mark)
    const at = expect.arrayContaining([expect.stringContaining('log.test.ts')])
    expect(line).toMatchObject({ err: { kind: 'Invariant', message: error.message, at } })
    expect(findLeak(JSON.stringify(line))).toBeNull()
  }
  for (const other of [new Error('Invariant'), { name: 'Invariant' }, null, 'Invariant']) {
    expect(isInvariant(other)).toBe(false)
  }
})

describe('a cause is printed at most once a second', () => {
  test('with the count of the lines that were not printed, for errors and for plain warnings', async () => {
    const mark = newId()
    const fail = (nth: number) =>
      withLogContext({ requestId: `r-${nth}` }, () =>
        log().error({ err: new Invariant(`row ${mark} is missing`), nth }, 'a job failed'),
      )
    for (let nth = 0; nth < 50; nth++) {
      fail(nth)
      log().warn({ shard: mark }, 'a place is full')
      log().info({ mark }, 'a line at info')
    }
    const ofMark = (msg: string) => readLogLines(mark).filter(line => line.msg === msg)
    expect(ofMark('a line at info')).toHaveLength(50)
    expect(ofMark('a job failed')).toMatchObject([{ nth: 0, requestId: 'r-0' }])
    await expect.poll(() => ofMark('a job failed').length, { timeout: 5_000 }).toBe(2)
    const [, counted] = ofMark('a job failed')
    expect(counted).toMatchObject({ level: 'error', suppressed: 49 })
    expect(counted).not.toHaveProperty('requestId')
    expect(counted?.cause).toBe(`Invariant row ${mark} is missing`)
    const whole = ofMark('a place is full').filter(line => line.suppressed === undefined)
    expect(whole).toHaveLength(1)
    await expect
      .poll(() => readLogLines('a place is full').some(({ suppressed }) => suppressed === 49))
      .toBe(true)
  })

  test('another error, or other fields of a line without one, is another cause', () => {
    const mark = newId()
    for (const nth of [1, 2]) {
      log().error({ err: new Invariant(`${mark} ${nth}`) }, 'a job failed')
      log().error({ accountId: mark, nth }, 'books are wrong')
    }
    expect(readLogLines(mark)).toHaveLength(4)
  })

  test('a counting line has the job, code and reason of those that it counts, and no job counts for another', async () => {
    const mark = newId()
    const fail = () => {
      for (const job of [`send ${mark}`, `prune ${mark}`])
        log().error({ err: { code: '53300' }, job, rows: 3 }, 'job failed')
      log().warn({ job: `ask ${mark}`, reason: 'busy' }, 'job waits')
    }
    for (let nth = 0; nth < 5; nth++) fail()
    const counted = () => readLogLines(mark).filter(line => line.suppressed !== undefined)
    await expect.poll(() => counted().length, { timeout: 5_000 }).toBe(3)
    const [send, prune, ask] = [`send ${mark}`, `prune ${mark}`, `ask ${mark}`].map(job =>
      counted().find(line => line.job === job),
    )
    const database = { suppressed: 4, code: '53300', reason: expect.any(String) }
    expect(send).toMatchObject(database)
    expect(prune).toMatchObject(database)
    expect(ask).toMatchObject({ suppressed: 4, reason: 'busy' })
  })

  test('the context of a request gets it, also when its line is suppressed', () => {
    const mark = newId()
    for (const requestId of ['r-1', 'r-2'])
      withLogContext({ requestId }, context => {
        log().error({ err: new Invariant(mark) }, 'request failed')
        expect(context.cause).toBe(`Invariant ${mark}`)
      })
    expect(readLogLines(mark)).toHaveLength(1)
  })
})

test('the message of any other error stays out of the log', () => {
  for (const error of [new Error(CANARY.document), new RangeError(CANARY.document)]) {
    const mark = newId()
    log().error({ err: error }, mark)
    const [line] = readLogLines(mark)
    expect(line?.err).not.toHaveProperty('message')
    expect(JSON.stringify(line)).not.toContain(CANARY.document)
  }
})

test('lines of requests are gathered; any other line is written at once, after those before it', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'log-')), 'log')
  const output = openLogOutput(openSync(file, 'a'))
  const read = () => readFileSync(file, 'utf8')
  output.writeSoon('1')
  output.writeSoon('2')
  expect(read()).toBe('')
  output.write('3')
  expect(read()).toBe('123')
  output.writeSoon('4')
  await expect.poll(read).toBe('1234')
})

test('the log search finds every canary, token, secret and row, and passes clean lines', () => {
  const token = `troco_test_${'a1B2c3D4'.repeat(5)}`.slice(0, 49)
  for (const text of [
    ...Object.values(CANARY),
    token,
    `whsec_${'A'.repeat(32)}`,
    'Failing row contains (1)',
  ]) {
    expect(findLeak(`{"msg":"before ${text} after"}`), text).not.toBeNull()
  }
  expect(findLeak('{"level":"info","requestId":"r-1","msg":"a job failed"}')).toBeNull()
})

describe('the log on standard error', () => {
  /** Runs code that logs, in a process of its own; `stderr` is read only if the test does so. */
  function runLogging(code: string, stderr: 'pipe' | number = 'pipe') {
    const program = `import { log } from '#lib/core/log.ts'\n${code}`
    return spawn(process.execPath, ['--input-type=module', '--eval', program], {
      env: { ...inheritedEnv(), LOG_FILE: '', LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', stderr],
    })
  }
  test('has the lines of requests of a process that ends, also by an error', async () => {
    const program = `import { logRequest } from '#lib/core/log.ts'
      const fields = { method: 'GET', route: '/', status: 200, tookMs: 1 }
      logRequest({}, fields, 'request completed', 'info')`
    for (const end of ['', 'throw new Error()', 'process.exit(1)']) {
      const child = runLogging(`${program}\n${end}`)
      expect(await text(child.stderr as Readable), end).toContain('"msg":"request completed"')
    }
  })

  const LOG_2_MB = `for (let nth = 0; nth < 2000; nth++) log().info('x'.repeat(1000))`

  test('does not stop a process while nobody reads it, nor its exit', async () => {
    const child = runLogging(`${LOG_2_MB}\nprocess.stdout.write('done', () => process.exit(3))`)
    child.stderr?.pause()
    const [code] = await once(child, 'exit')
    expect(code).toBe(3)
  })

  test('is complete once its reader goes on, and says how many lines were dropped', async () => {
    const child = runLogging(`const timer = setInterval(() => {}, 1000)
      process.once('SIGTERM', () => clearInterval(timer))
      ${LOG_2_MB}; ${LOG_2_MB}; ${LOG_2_MB}
      process.stdout.write('done')`)
    child.stderr?.pause()
    if (child.stdout) await once(child.stdout, 'data')
    const read = text(child.stderr as Readable)
    child.kill('SIGTERM')
    const lines = (await read).trim().split('\n')
    const { dropped } = JSON.parse(lines.at(-1) ?? '')
    expect(dropped).toBeGreaterThan(0)
    expect(lines.length - 1 + dropped).toBe(6_000)
  })

  test('may be closed or on a full disk', async () => {
    const full = openSync('/dev/full', 'w')
    const onFullDisk = runLogging(`log().info('a'); log().info('b'); process.exitCode = 3`, full)
    expect(await once(onFullDisk, 'exit')).toEqual([3, null])
    closeSync(full)
    const closed = runLogging(
      `setTimeout(() => { log().info('a'); log().info('b'); process.exitCode = 3 }, 300)`,
    )
    closed.stderr?.destroy()
    expect(await once(closed, 'exit')).toEqual([3, null])
  })
})

test('no line has a key twice, also if a field is called as one that every line has', () => {
  const mark = newId()
  log().info({ mark, host: 'of a receiver', role: 'owner' }, 'a line with fields of its own')
  const text = readFileSync(TEST_LOG, 'utf8')
  const line = text.split('\n').find(each => each.includes(mark)) ?? ''
  expect(JSON.parse(line)).toMatchObject({ host: 'of a receiver', role: 'owner' })
  expect(findRepeatedKey(line)).toBeNull()
  expect(findRepeatedKey('{"a":{"host":"x"},"host":"y"}\n{"host":"{\\"host\\":"}')).toBeNull()
  expect(findRepeatedKey('{"level":"info","host":"x","at":[{"host":1}],"host":"y"}')).toBe('host')
})
