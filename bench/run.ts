/**
 * `npm run bench`: compares Troco with Fastify + pg and bare node:http, then measures webhooks, due
 * work, a busy account and pages. It starts its own PostgreSQL, servers and load on loopback.
 * `--profile create` instead prints which code uses the CPU time of an operation.
 */
import { waitForStop } from '#bin/runtime.ts'
import { measureAfter } from './after/after.ts'
import { examineRowsAndLedger } from './books.ts'
import { type BenchDatabase, openDatabase } from './database.ts'
import { type Generator, startGenerator } from './load/send.ts'
import { measureAll } from './measure.ts'
import { type Options, readOptions } from './options.ts'
import { profileOperation } from './profile/profile.ts'
import { formatReport, formatSection } from './report.ts'
import {
  endChild,
  endChildren,
  residentMb,
  startServer,
  trackChild,
  VARIANTS,
  type Variant,
} from './servers.ts'
import { judgeResults } from './targets.ts'
import { makeWorld } from './world.ts'

async function compareServers(database: BenchDatabase, generator: Generator, options: Options) {
  const world = await makeWorld(options, database.settings.DATABASE_OWNER_URL ?? '')
  const servers = []
  for (const variant of VARIANTS) servers.push(await startServer(variant, database.settings))
  const before = servers.map(({ child }) => residentMb(child))
  const results = await measureAll(
    servers,
    generator,
    world,
    options,
    database.settings.DATABASE_OWNER_URL ?? '',
  )
  const memory = servers.map(({ variant, child }, index) => {
    return { variant, before: before[index] ?? 0, after: residentMb(child) }
  })
  const residentOf = (name: Variant) => memory.find(({ variant }) => variant === name)?.after ?? 0
  for (const { child } of servers) await endChild(child)
  process.stderr.write('Verifying the ledger\n')
  const verdicts = [
    ...judgeResults(results, options, residentOf('fast')),
    ...(await examineRowsAndLedger(world, results)),
  ]
  process.stdout.write(formatReport(results, memory, verdicts, options))
  return verdicts.every(({ isMet: holds }) => holds)
}

async function runBench(options: Options): Promise<boolean> {
  process.stderr.write('Starting PostgreSQL\n')
  opening = openDatabase()
  const database = await opening
  const generator = startGenerator()
  trackChild(generator.child)
  if (options.profile) return profileOperation(options.profile, database, generator, options)
  let hasPassed = true
  if (options.only.length > 0) hasPassed = await compareServers(database, generator, options)
  if (options.after.length === 0) return hasPassed
  await measureAfter(database, generator, options, section => {
    process.stdout.write(formatSection(section))
    hasPassed &&= section.verdicts.every(({ isMet: holds }) => holds)
  })
  return hasPassed
}

// A reader that closes early (`| head`) must not end this process before it stops PostgreSQL.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})
let opening: Promise<BenchDatabase> | undefined
const stopped = waitForStop().then(() => {
  throw new Error('Stopped')
})
let hasPassed = false
try {
  hasPassed = await Promise.race([runBench(readOptions(process.argv.slice(3))), stopped])
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
}
await endChildren()
const opened = await opening?.catch(() => undefined)
await opened?.close()
process.exit(hasPassed ? 0 : 1)
