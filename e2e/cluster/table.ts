import { type Attempt, isDisturbed } from '#e2e/cluster/load.ts'

export interface Row {
  fault: string
  seconds: number
  targetSeconds: number | null
  errors: string
  slowestSeconds: number
  lost: number
  doubled: number
  wrong: number
  hasHealed: boolean
  /** Load average of the machine when the fault began. */
  machineLoad: number
}

/** From the first to the last start of an attempt that failed or was slow. */
export function measureDisturbance(attempts: readonly Attempt[]): {
  seconds: number
  errors: string
} {
  const disturbed = attempts.filter(isDisturbed)
  const starts = disturbed.map(({ startedAt }) => startedAt)
  const counts = new Map<string, number>()
  for (const { outcome } of disturbed) {
    const name = outcome === '200' ? 'slow' : outcome
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return {
    seconds: starts.length === 0 ? 0 : (Math.max(...starts) - Math.min(...starts)) / 1_000,
    errors: [...counts].map(([code, count]) => `${code} × ${count}`).join(', ') || 'none',
  }
}

export function hasPassed(row: Row): boolean {
  const isInTime = row.targetSeconds === null || row.seconds <= row.targetSeconds
  // One attempt that failed is a disturbance without a length.
  const isUndisturbed = row.targetSeconds !== 0 || row.errors === 'none'
  return isInTime && isUndisturbed && row.lost + row.doubled + row.wrong === 0 && row.hasHealed
}

const TITLES = [
  'fault',
  'seconds',
  'at most',
  'errors by code',
  'slowest s',
  'lost',
  'doubled',
  'wrong',
  'healed',
  'load',
]

export function formatTable(rows: readonly Row[]): string {
  const lines = [TITLES, TITLES.map(() => '---'), ...rows.map(formatRow)]
  const widths = TITLES.map((_, column) =>
    Math.max(...lines.map(line => line[column]?.length ?? 0)),
  )
  return lines
    .map(line => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`)
    .join('\n')
}

function formatRow(row: Row): string[] {
  return [
    `${hasPassed(row) ? '' : 'FAILED: '}${row.fault}`,
    row.seconds.toFixed(1),
    row.targetSeconds === null ? '–' : row.targetSeconds.toFixed(1),
    row.errors,
    row.slowestSeconds.toFixed(1),
    ...[row.lost, row.doubled, row.wrong].map(String),
    row.hasHealed ? 'yes' : 'no',
    row.machineLoad.toFixed(0),
  ]
}
