import type pg from 'pg'
import type { Generator } from '../load/send.ts'
import type { Options } from '../options.ts'
import type { Verdict } from '../targets.ts'

export interface Section {
  title: string
  lines: string[]
  verdicts: Verdict[]
}

/** Resources of one measurement. Its database has no due rows at the start. */
export interface BenchEnvironment {
  settings: Record<string, string>
  pool: pg.Pool
  generator: Generator
  options: Options
}
