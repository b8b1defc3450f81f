import type pg from 'pg'
import type { Generator } from '../load/send.ts'
import type { Options } from '../options.ts'
import type { Verdict } from '../targets.ts'

export interface Section {
  title: string
  lines: string[]
  verdicts: Verdict[]
}

/** Environment of a measurement: a database in which nothing is due. */
export interface BenchEnvironment {
  settings: Record<string, string>
  pool: pg.Pool
  generator: Generator
  options: Options
}
