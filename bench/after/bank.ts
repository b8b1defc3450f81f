import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { examineLedger, formatCount } from '../books.ts'
import type { LoadOutcome } from '../load/generator.ts'
import { buildRequest } from '../load/send.ts'
import { median } from '../measure.ts'
import { CONNECTIONS } from '../options.ts'
import { endChild, startServer, trackChild } from '../servers.ts'
import { CHARGE, makeMerchant } from '../world.ts'
import type { BenchEnvironment, Section } from './section.ts'

const LOAD = join(import.meta.dirname, '../load')
const RESPONSE_MS = 20
/** Rate at which the time of the bank, not the processor, decides about latency. */
const REQUESTS_PER_SECOND = 100
const ADDED_MAX_MS = 15

/**
 * Compares creating charges with the simulator's local answers, with the same simulator called like
 * a bank, and with a bank behind HTTP.
 */
export async function measureBank(environment: BenchEnvironment): Promise<Section> {
  const { settings, pool, generator, options } = environment
  const bank = trackChild(fork(join(LOAD, 'bank.ts'), [String(RESPONSE_MS)]))
  const [bankPort] = (await once(bank, 'message')) as [number]
  const merchant = await makeMerchant('Loja do Banco')
  const adapter = pathToFileURL(join(LOAD, 'bank-adapter.ts')).href
  const servers = {
    local: await startServer('fast', settings),
    called: await startServer('fast', settings, ['--import', adapter]),
    bank: await startServer('fast', settings, ['--import', `${adapter}?port=${bankPort}`]),
  }
  const requests = [buildRequest('POST', '/api/transactions', merchant.token, CHARGE)]
  let responseCount = 0
  const create = async (name: keyof typeof servers, perSecond?: number): Promise<LoadOutcome> => {
    const { port } = servers[name]
    const { rampMs, measureMs } = options
    const load = { port, requests, connections: CONNECTIONS, perSecond, rampMs, measureMs }
    const outcome = await generator.send(load)
    responseCount += outcome.responseCount
    return outcome
  }
  const runs = { local: [], called: [], bank: [] } as Record<keyof typeof servers, LoadOutcome[]>
  for (let round = 0; round < options.rounds; round++) {
    runs.local.push(await create('local'))
    runs.called.push(await create('called'))
    runs.bank.push(await create('bank', REQUESTS_PER_SECOND))
  }
  for (const { child } of Object.values(servers)) await endChild(child)
  await endChild(bank)
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM charges WHERE account_id = $1 AND status = 'pending'`,
    [merchant.id],
  )
  const rateOf = (name: keyof typeof runs) => median(runs[name].map(run => run.perSecond))
  const share = median(
    runs.called.map((run, round) => run.perSecond / (runs.local[round]?.perSecond ?? 0)),
  )
  const p50 = median(runs.bank.map(run => run.p50))
  const p99 = median(runs.bank.map(run => run.p99))
  return {
    title: `Creating charges at a bank that responds after ${RESPONSE_MS} ms`,
    lines: [
      `simulator, answering inside the statement: ${formatCount(Math.round(rateOf('local')))} per second`,
      `simulator, called like a bank: ${formatCount(Math.round(rateOf('called')))} per second, ${Math.round(share * 100)} %`,
      `bank over HTTP, ${REQUESTS_PER_SECOND} per second: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
    ],
    verdicts: [
      {
        requirement: `bank: Troco adds at most ${ADDED_MAX_MS} ms to its response time, median`,
        measured: `${(p50 - RESPONSE_MS).toFixed(1)} ms`,
        // Below zero, the bank was not called.
        isMet: p50 >= RESPONSE_MS && p50 - RESPONSE_MS <= ADDED_MAX_MS,
      },
      {
        requirement: 'bank: every charge that was acknowledged is stored and open',
        measured: `${formatCount(rows[0]?.count ?? 0)} of ${formatCount(responseCount)}`,
        isMet: rows[0]?.count === responseCount,
      },
      await examineLedger(),
    ],
  }
}
