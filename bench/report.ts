import { availableParallelism } from 'node:os'
import type { Section } from './after/section.ts'
import type { Figure, Results } from './measure.ts'
import { OPERATIONS } from './operations.ts'
import type { OperationName, Options } from './options.ts'
import { TITLES, type Variant } from './servers.ts'
import type { Verdict } from './targets.ts'

export interface Memory {
  variant: Variant
  before: number
  after: number
}

const TITLE_WIDTH = 24
const CELL_WIDTHS = [8, 7, 6, 7, 6]
const GROUP_WIDTH = CELL_WIDTHS.reduce((sum, width) => sum + width)
const RATIO_WIDTH = 8
const COMPARED_VARIANTS = ['fast', 'fastify'] as const
const SHORT_TITLES = { fast: 'Troco, front', fastify: 'Fastify + pg' }

/** Formats the report, at most 108 columns wide. */
export function formatReport(
  results: Results,
  memory: Memory[],
  verdicts: Verdict[],
  options: Options,
): string {
  return [
    ...describeRun(options),
    '',
    ...formatTable(results, options),
    '',
    ...formatSingleClient(results, options),
    '',
    ...formatMemory(memory),
    '',
    ...verdicts.map(formatVerdict),
    '',
  ].join('\n')
}

function describeMachine(): string {
  return `Node ${process.versions.node}, ${availableParallelism()} cores`
}

export function formatSection({ title, lines, verdicts }: Section): string {
  const heading = `${title} (${describeMachine()}, shared by all processes)`
  return ['', heading, ...lines.map(line => `  ${line}`), ...verdicts.map(formatVerdict), ''].join(
    '\n',
  )
}

function describeRun({ rounds, measureMs, connections }: Options): string[] {
  return [
    `${describeMachine()}, shared by server, PostgreSQL and load generator; ${connections} connections, no worker.`,
    `Medians of ${rounds} rounds of ${measureMs / 1_000} s, all servers in turn; latencies in ms, CPU in µs per request and of it the database's.`,
  ]
}

function formatTable(results: Results, options: Options): string[] {
  const groups = COMPARED_VARIANTS.map(variant => SHORT_TITLES[variant].padStart(GROUP_WIDTH)).join(
    '',
  )
  const names = ['req/s', 'p50', 'p99', 'CPU', 'db']
    .map((name, column) => name.padStart(CELL_WIDTHS[column] ?? 0))
    .join('')
  const rows = options.only.map(name => {
    const cells = COMPARED_VARIANTS.map(variant =>
      formatCell(results.figureOf([name, variant])),
    ).join('')
    const share = results.ratio([name, 'fast'], [name, 'fastify'])
    const cpuShare = results.ratio([name, 'fastify'], [name, 'fast'], 'cpuUs')
    const ratio = [share, cpuShare]
      .map(part => `${Math.round(part * 100)} %`.padStart(RATIO_WIDTH))
      .join('')
    return titleOf(name, options).padEnd(TITLE_WIDTH) + cells + ratio
  })
  const [first] = options.only
  const bareRow =
    first && TITLES.nothing.padEnd(TITLE_WIDTH) + formatCell(results.figureOf([first, 'nothing']))
  return [
    ' '.repeat(TITLE_WIDTH) + groups + 'of'.padStart(RATIO_WIDTH) + 'by CPU'.padStart(RATIO_WIDTH),
    'operation'.padEnd(TITLE_WIDTH) +
      names.repeat(COMPARED_VARIANTS.length) +
      'Fastify'.padStart(RATIO_WIDTH).repeat(2),
    ...rows,
    ...(bareRow ? [bareRow] : []),
  ]
}

function formatSingleClient(results: Results, options: Options): string[] {
  const width = Math.max(...options.only.map(name => titleOf(name, options).length))
  return [
    'One client, p50 of Troco through the front and of Fastify + pg:',
    ...options.only.map(name => {
      const [troco, fastify] = COMPARED_VARIANTS.map(
        variant => `${results.aloneP50([name, variant]).toFixed(2)} ms`,
      )
      return `  ${titleOf(name, options).padEnd(width)}  ${troco}, ${fastify}`
    }),
  ]
}

function formatMemory(memory: Memory[]): string[] {
  return [
    'Memory of the server (RSS), before and after load:',
    ...memory.map(
      ({ variant, before, after }) =>
        `  ${TITLES[variant].padEnd(25)}${`${before} MB`.padStart(7)}, ${`${after} MB`.padStart(7)}`,
    ),
  ]
}

function formatVerdict({ requirement: promise, measured: figure, isMet: holds }: Verdict): string {
  return `${holds ? 'pass' : 'FAIL'}  ${promise}: ${figure}`
}

function titleOf(name: OperationName, { smallList, largeList }: Options): string {
  const { title } = OPERATIONS[name]
  if (name === 'small') return `${title} of ${formatCount(smallList)}`
  if (name === 'large') return `${title} of ${formatCount(largeList)}`
  return title
}

function formatCount(value: number): string {
  return value.toLocaleString('en')
}

function formatCell({ perSecond, p50, p99, cpuUs, databaseUs }: Figure): string {
  const texts = [
    Math.round(perSecond).toLocaleString('en'),
    p50.toFixed(2),
    p99.toFixed(1),
    Math.round(cpuUs).toLocaleString('en'),
    Math.round(databaseUs).toLocaleString('en'),
  ]
  return texts.map((text, column) => text.padStart(CELL_WIDTHS[column] ?? 0)).join('')
}
