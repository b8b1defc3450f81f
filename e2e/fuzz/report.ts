import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FuzzRun, Problem } from '#e2e/fuzz/run.ts'

const FOLDER = '.cache/fuzz'
const SHOWN_MAX = 20
const BYTES_SHOWN = 1_500

export function describeProblems(run: FuzzRun): string {
  const kinds = Map.groupBy(run.problems, ({ said }) => said.slice(0, 60))
  const firsts = [...kinds.values()].map(alike => ({ ...alike[0]!, count: alike.length }))
  return firsts
    .slice(0, SHOWN_MAX)
    .map(first => `${first.count} × ${describe(first, run)}`)
    .join('\n\n')
}

function describe({ request, said }: Problem, run: FuzzRun): string {
  if (!request) return said
  const { seed, number, finish, byFetch, parts } = request
  mkdirSync(FOLDER, { recursive: true })
  const file = join(FOLDER, `${seed}-${number}.http`)
  const bytes = Buffer.concat(parts)
  writeFileSync(file, bytes)
  const text = JSON.stringify(bytes.subarray(0, BYTES_SHOWN).toString('latin1'))
  const more = bytes.length > BYTES_SHOWN ? `… ${bytes.length} bytes in total` : ''
  return [
    said,
    `  repeat: FUZZ_SEED=${seed} FUZZ_ONLY=${number} vitest run e2e/fuzz; bytes in ${file}`,
    `  ${byFetch ? 'by fetch' : `then ${finish}`}: ${text.replaceAll(run.world.token, '<token>')}${more}`,
  ].join('\n')
}
