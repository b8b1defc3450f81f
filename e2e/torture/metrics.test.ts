import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { pickSize, recordFigures } from '#e2e/torture/figures.ts'
import { supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { startMetrics } from '#lib/http/metrics.ts'
import { call } from '#lib/testing/call.ts'
import { findProgram } from '#lib/testing/debian.ts'
import { CHARGE, startApiWithMerchant } from '#lib/testing/fixtures.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { startWorkerProcess, type WorkerProcess } from '#lib/testing/worker-process.ts'

/** Installed only by `npm run torture`, and only as root on Debian. */
const program = pickSize(0, 1) === 1 ? await findProgram('prometheus', ['promtool']) : null
const FOLDER = 'docs/monitoring'

function promtool(args: string[], input = ''): string {
  return execFileSync(program ?? '', args, { cwd: FOLDER, input, encoding: 'utf8' })
}

describe.skipIf(!program)('promtool', () => {
  let world: Awaited<ReturnType<typeof startApiWithMerchant>>
  let worker: WorkerProcess
  let stop: () => void
  const ports = { web: 0, worker: 0 }
  beforeAll(async () => {
    ports.web = await findFreePort()
    ports.worker = await findFreePort()
    supplyEnv({ METRICS_PORT: String(ports.web) })
    stop = await startMetrics()
    world = await startApiWithMerchant()
    worker = await startWorkerProcess({ METRICS_PORT: String(ports.worker) })
  })
  afterAll(async () => {
    stop()
    await worker.stop()
    await world.api.close()
    await disconnect()
  })

  test('accepts the rules, and each raises its alert', () => {
    expect(promtool(['check', 'rules', 'alerts.yml'])).toContain('SUCCESS')
    expect(promtool(['test', 'rules', 'alerts.test.yml'])).toContain('SUCCESS')
    const alerts = [...readFileSync(`${FOLDER}/alerts.yml`, 'utf8').matchAll(/- alert: (\w+)/g)]
    const tests = readFileSync(`${FOLDER}/alerts.test.yml`, 'utf8')
    for (const [, name] of alerts) expect(tests).toContain(`{alertname="${name}"`)
  })

  test.each(['web', 'worker'] as const)('accepts a scrape of a %s process', async kind => {
    await call(world.api.url, 'POST', '/transactions', { token: world.token, body: CHARGE })
    const began = performance.now()
    const address = `http://127.0.0.1:${ports[kind]}/metrics`
    const text = await vi.waitFor(async () => (await fetch(address)).text(), { timeout: 10_000 })
    const ms = Math.round(performance.now() - began)
    expect(promtool(['check', 'metrics'], text)).toBe('')
    expect(text).toContain('troco_database_up 1')
    recordFigures(`scrape of a ${kind} process`, { bytes: text.length, ms })
  })
})
