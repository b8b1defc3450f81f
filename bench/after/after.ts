import { type BenchDatabase, dropDatabaseAside, inDatabaseAside } from '../database.ts'
import type { Generator } from '../load/send.ts'
import type { AfterName, Options } from '../options.ts'
import { measureDeliveries } from './deliveries.ts'
import { measureHot } from './hot.ts'
import { openHouse } from './house.ts'
import { measurePages } from './pages.ts'
import type { Ground, Section } from './section.ts'
import { measureSweep } from './sweep.ts'
import { measureWebhooks } from './webhooks.ts'

const HOUSE = 'bench_house'

const MEASUREMENTS: Record<AfterName, (ground: Ground) => Promise<Section>> = {
  webhooks: measureWebhooks,
  deliveries: measureDeliveries,
  sweep: measureSweep,
  hot: measureHot,
  pages: measurePages,
}

/** Runs each measurement in its own copy of a database that already has data. */
export async function measureAfter(
  { settings }: BenchDatabase,
  generator: Generator,
  options: Options,
  tell: (section: Section) => void,
): Promise<void> {
  process.stderr.write('Preparing a database with paid and expired charges\n')
  await inDatabaseAside(settings, { name: HOUSE }, openHouse)
  for (const measured of options.after) {
    process.stderr.write(`Measuring ${measured}\n`)
    const name = `bench_${measured}`
    const section = await inDatabaseAside(settings, { name, template: HOUSE }, aside =>
      MEASUREMENTS[measured]({ ...aside, generator, options }),
    )
    await dropDatabaseAside(settings, name)
    tell(section)
  }
}
