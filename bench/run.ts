/**
 * `npm run bench`: compares Troco with Fastify + pg and bare node:http, then measures webhooks, due
 * work, a busy account and the pages. PostgreSQL, servers and load are its own, on loopback.
 * `--profile create` shows where the time goes instead.
 */
import { untilStopped } from '#bin/stop.ts'
import { measureAfter } from './after/after.ts'
import { examineBooks } from './books.ts'
import { type BenchDatabase, openDatabase } from './database.ts'
import { type Generator, startGenerator } from './load/send.ts'
import { measureAll } from './measure.ts'
import { judge } from './musts.ts'
import { type Options, readOptions } from './options.ts'
import { profile } from './profile/profile.ts'
import { writeReport, writeSection } from './report.ts'
import { adopt, endChild, endChildren, residentMb, startServer, VARIANTS } from './servers.ts'
import { makeWorld } from './world.ts'

async function compare(database: BenchDatabase, generator: Generator, options: Options) {
  const world = await makeWorld(options, database.settings.DATABASE_URL ?? '')
  const servers = []
  for (const variant of VARIANTS) servers.push(await startServer(variant, database.settings))
  const before = servers.map(({ child }) => residentMb(child))
  const results = await measureAll(servers, generator, world, options)
  const memory = servers.map(({ variant, child }, at) => {
    return { variant, before: before[at] ?? 0, after: residentMb(child) }
  })
  for (const { child } of servers) await endChild(child)
  process.stderr.write('Verifying the ledger\n')
  const verdicts = [...judge(results, options.only), ...(await examineBooks(world, results))]
  process.stdout.write(writeReport(results, memory, verdicts, options))
  return verdicts.every(({ holds }) => holds)
}

async function work(options: Options): Promise<boolean> {
  process.stderr.write('Starting PostgreSQL\n')
  opening = openDatabase()
  const database = await opening
  const generator = startGenerator()
  adopt(generator.child)
  if (options.profile) return profile(options.profile, database, generator, options)
  let good = true
  if (options.only.length > 0) good = await compare(database, generator, options)
  if (options.after.length === 0) return good
  await measureAfter(database, generator, options, section => {
    process.stdout.write(writeSection(section))
    good &&= section.verdicts.every(({ holds }) => holds)
  })
  return good
}

// A reader that closes early (`| head`) must not end this process before its database.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})
let opening: Promise<BenchDatabase> | undefined
const stopped = untilStopped().then(() => {
  throw new Error('Stopped')
})
let good = false
try {
  good = await Promise.race([work(readOptions(process.argv.slice(3))), stopped])
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
}
await endChildren()
const opened = await opening?.catch(() => undefined)
await opened?.close()
process.exit(good ? 0 : 1)
