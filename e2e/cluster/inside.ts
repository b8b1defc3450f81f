import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { examine } from '#e2e/cluster/checks.ts'
import { type Fault, listFaults } from '#e2e/cluster/faults.ts'
import { Load } from '#e2e/cluster/load.ts'
import { databaseUrl, trocoSettings } from '#e2e/cluster/settings.ts'
import { formatTable, hasPassed, measureDisturbance, type Row } from '#e2e/cluster/table.ts'
import { Cluster, until } from '#e2e/cluster/topology.ts'
import { openWebhookReceiver, type WebhookReceiver } from '#e2e/cluster/webhook-receiver.ts'
import { supplyEnv } from '#lib/core/settings.ts'

/** Part of `npm run cluster` that runs inside of its namespaces; their end ends all that it starts. */

/** A busy machine disturbs the load by itself: a fault waits until it does not. */
const STEADY_MAX_MS = 120_000
/** A fault is over when no attempt was disturbed for this long: an attempt takes 5 s at most. */
const QUIET_MS = 6_000
const HEAL_MAX_MS = 90_000
/** The third attempt of a webhook comes after 5 minutes. */
const LAST_DELIVERY_MAX_MS = 400_000
const REPORTED_MAX = 20
const PERMISSIONS =
  'transactions:read,transactions:write,refunds:write,withdrawals:read,withdrawals:write,webhooks:read,webhooks:write'

interface Stage {
  cluster: Cluster
  load: Load
  receiver: WebhookReceiver
  accountId: string
}

const report = (line: string) => process.stderr.write(`${line}\n`)
const { folder, faults } = readOptions(process.argv.slice(2))
const rows: Row[] = []
const reported = new Set<string>()
try {
  const stage = await openStage(folder)
  for (const fault of faults) rows.push(await play(stage, fault).catch(failedRow(fault.name)))
  rows.push(await playNothing(stage))
} catch (error) {
  rows.push(failedRow('the run itself')(error))
}
const failed = rows.filter(row => !hasPassed(row)).length
process.stdout.write(`\n${formatTable(rows)}\n`)
process.stdout.write(`\n${rows.length - failed} passed, ${failed} failed\n`)
process.exit(failed > 0 ? 1 : 0)

function readOptions(args: string[]): { folder: string; faults: Fault[] } {
  const text = { type: 'string' } as const
  const options = { folder: text, rounds: { ...text, default: '1' }, only: text }
  const { values } = parseArgs({ args, options })
  const words = (values.only ?? '').split(',')
  const isChosen = ({ name }: Fault) => words.some(word => name.includes(word))
  return {
    folder: values.folder ?? '',
    faults: listFaults(Number(values.rounds)).filter(isChosen),
  }
}

async function openStage(folder: string): Promise<Stage> {
  const cluster = new Cluster(folder)
  await cluster.start(report)
  const receiver = await openWebhookReceiver()
  const owner = ['--name', 'Loja do Cluster', '--email', 'loja@example.com']
  const accountId = await cluster.command(['account', 'create', ...owner])
  const token = await cluster.command([
    'token',
    'create',
    '--account',
    accountId,
    '--name',
    'cluster',
    '--permissions',
    PERMISSIONS,
  ])
  supplyEnv({
    ...trocoSettings(folder),
    DATABASE_URL: databaseUrl('troco', 'balancer'),
    LOG_LEVEL: 'silent',
  })
  const load = new Load(token, cluster.certificate)
  await load.addEndpoint(receiver.url)
  return { cluster, load, receiver, accountId }
}

async function play(stage: Stage, fault: Fault): Promise<Row> {
  const { cluster, load } = stage
  report(`${new Date().toISOString()} ${fault.name}`)
  load.start()
  load.reset()
  await sleep(QUIET_MS)
  await untilQuiet(load, STEADY_MAX_MS)
  load.reset()
  const [machineLoad = 0] = loadavg()
  const complaint = await fault.play(cluster).then(
    () => null,
    error => String(error),
  )
  if (complaint) report(complaint)
  await sleep(QUIET_MS)
  const hasHealed = (await untilQuiet(load)) && (await untilWhole(cluster)) && complaint === null
  await load.stop()
  return judge(stage, { ...fault, hasHealed, machineLoad })
}

/** At the end, every event has been delivered. */
async function playNothing(stage: Stage): Promise<Row> {
  stage.load.reset()
  report('Waiting for the last webhooks')
  const facts = { name: 'all webhooks at the end', targetSeconds: null, hasHealed: true }
  return judge(stage, { ...facts, machineLoad: loadavg()[0] ?? 0 }, LAST_DELIVERY_MAX_MS)
}

async function judge(
  { load, receiver, accountId }: Stage,
  facts: Pick<Fault, 'name' | 'targetSeconds'> & Pick<Row, 'hasHealed' | 'machineLoad'>,
  settleMaxMs?: number,
): Promise<Row> {
  const { seconds, errors } = measureDisturbance(load.attempts)
  const isLast = settleMaxMs !== undefined
  if (load.attempts.length === 0 && !isLast) throw new Error('There was no load')
  const findings = await examine(accountId, load.acknowledged, receiver, settleMaxMs)
  const unanswered = load.failures.splice(0)
  if (isLast && findings.waiting > 0) findings.lost.push(`${findings.waiting} still wait`)
  const { targetSeconds, hasHealed, machineLoad } = facts
  const row: Row = {
    fault: facts.name,
    seconds,
    targetSeconds,
    errors,
    hasHealed,
    machineLoad,
    slowestSeconds: load.slowestMs / 1_000,
    lost: reportNew(findings.lost),
    doubled: reportNew(findings.doubled),
    wrong: reportNew([...findings.wrong, ...unanswered]),
  }
  if (findings.waiting > 0) report(`  ${findings.waiting} wait for their next attempt`)
  report(formatTable([row]).split('\n').at(-1) ?? '')
  return row
}

/** Reports what no earlier fault has caused; returns how much that is. */
function reportNew(lines: string[]): number {
  const caused = lines.filter(line => !reported.has(line))
  for (const line of caused) reported.add(line)
  for (const line of caused.slice(0, REPORTED_MAX)) report(`  ${line}`)
  return caused.length
}

async function untilQuiet(load: Load, maxMs = HEAL_MAX_MS): Promise<boolean> {
  const isQuiet = async () => load.quietMs() > QUIET_MS
  return isReached(until(isQuiet, 'It stays disturbed', maxMs))
}

async function untilWhole(cluster: Cluster): Promise<boolean> {
  return isReached(until(() => cluster.isWhole(), 'It does not heal', HEAL_MAX_MS))
}

async function isReached(waiting: Promise<unknown>): Promise<boolean> {
  return waiting.then(
    () => true,
    () => false,
  )
}

/** For a fault that could not be played or examined. */
function failedRow(fault: string): (error: unknown) => Row {
  return error => {
    report(error instanceof Error ? (error.stack ?? error.message) : String(error))
    return {
      fault,
      seconds: 0,
      targetSeconds: null,
      errors: '',
      slowestSeconds: 0,
      lost: 0,
      doubled: 0,
      wrong: 1,
      hasHealed: false,
      machineLoad: loadavg()[0] ?? 0,
    }
  }
}
