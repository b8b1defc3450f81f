import { type BenchDatabase, dropSecondDatabase, withSecondDatabase } from '../database.ts'
import type { Generator } from '../load/send.ts'
import type { AfterName, Options } from '../options.ts'
import { measureBank } from './bank.ts'
import { measureDeliveries } from './deliveries.ts'
import { seedHistory } from './history.ts'
import { measureHotAccount } from './hot.ts'
import { measureNeighbours } from './neighbours.ts'
import { measurePages } from './pages.ts'
import type { BenchEnvironment, Section } from './section.ts'
import { measureSweep } from './sweep.ts'
import { measureWebhooks } from './webhooks.ts'

const TEMPLATE_DATABASE = 'bench_template'

const MEASUREMENTS: Record<AfterName, (environment: BenchEnvironment) => Promise<Section>> = {
  webhooks: measureWebhooks,
  deliveries: measureDeliveries,
  sweep: measureSweep,
  hot: measureHotAccount,
  bank: measureBank,
  pages: measurePages,
  neighbours: measureNeighbours,
}

/** Runs each measurement in its own copy of a database that already has data. */
export async function measureAfter(
  { settings }: BenchDatabase,
  generator: Generator,
  options: Options,
  onSection: (section: Section) => void,
): Promise<void> {
  process.stderr.write('Preparing a database with paid and expired charges\n')
  await withSecondDatabase(settings, { name: TEMPLATE_DATABASE }, seedHistory)
  for (const measurement of options.after) {
    process.stderr.write(`Measuring ${measurement}\n`)
    const name = `bench_${measurement}`
    const section = await withSecondDatabase(
      settings,
      { name, template: TEMPLATE_DATABASE },
      database => MEASUREMENTS[measurement]({ ...database, generator, options }),
    )
    await dropSecondDatabase(settings, name)
    onSection(section)
  }
}
