import { processWide } from '#lib/core/process-wide.ts'

type Kind = 'counter' | 'gauge' | 'histogram'
interface Metric {
  kind: Kind
  help: string
  labels: string[]
}

const counter = (help: string, ...labels: string[]) => ({ kind: 'counter' as const, help, labels })
const gauge = (help: string, ...labels: string[]) => ({ kind: 'gauge' as const, help, labels })
const histogram = (help: string, ...labels: string[]) => ({
  kind: 'histogram' as const,
  help,
  labels,
})

/**
 * Metrics of a process, for Prometheus. A label has few values by construction: names of routes,
 * operations, outcomes and of connections to banks, never an id, a path or a text of a caller.
 */
export const METRICS = {
  troco_build_info: gauge('Version of Troco and of Node, always 1.', 'version', 'node'),
  troco_http_requests_total: counter(
    'Responses by path template, method, status (499: the client disconnected before) and mode, if any.',
    'route',
    'method',
    'code',
    'mode',
  ),
  troco_http_request_seconds: histogram(
    'Time from the request to the end of its response; of a stream, to its beginning.',
    'route',
    'method',
  ),
  troco_delivery_attempts_total: counter(
    'Attempts to deliver a webhook that were stored: delivered, retried, exhausted or stopped.',
    'outcome',
  ),
  troco_delivery_attempt_seconds: histogram('Duration of attempts to deliver a webhook.'),
  troco_bank_calls_total: counter(
    'Calls of banks by the outcome that was stored.',
    'connection',
    'operation',
    'outcome',
  ),
  troco_bank_call_seconds: histogram('Duration of calls of banks.', 'connection', 'operation'),
  troco_spans_total: counter(
    'Spans of traces: exported, or dropped because the OTLP collector did not take them.',
    'outcome',
  ),
  troco_job_failures_total: counter('Runs of a task of the worker that failed.', 'task'),
  troco_database_pool_connections: gauge(
    'Connections of the pool of this process: in use or idle.',
    'state',
  ),
  troco_database_pool_waiting: gauge('Statements that wait for a connection of the pool.'),
  troco_database_up: gauge(
    '1: the metrics below were read from the database within 30 seconds. 0: they are missing.',
  ),
  troco_metrics_unread: gauge('1: this part could not be read from the database.', 'part'),
  troco_clock_offset_seconds: gauge('Clock of this machine, minus the clock of the database.'),
  troco_queue_due: gauge('Due rows of a queue, 10,000 at most.', 'queue'),
  troco_queue_oldest_due_seconds: gauge('Time since the oldest due row was due.', 'queue'),
  troco_workers: gauge('Workers that sent a heartbeat in the last 30 seconds.'),
  troco_worker_heartbeat_age_seconds: gauge('Age of the newest heartbeat of a worker.'),
  troco_ledger_accounts_wrong: gauge('Accounts whose last check found wrong books.'),
  troco_ledger_check_age_seconds: gauge(
    'Time since the last check of the account that waits most.',
  ),
  troco_backup_age_seconds: gauge(
    'Time since the newest backup began; without one, since the database was created.',
  ),
  troco_wal_archive_failing_seconds: gauge(
    'Time since PostgreSQL last archived its log, while it fails to; else 0.',
  ),
  troco_table_bytes: gauge(
    'Size of the 15 largest tables, with their indexes and partitions.',
    'table',
  ),
  troco_bank_resting: gauge('1: the connection is not called, because calls failed.', 'connection'),
  troco_bank_money_out_closed: gauge(
    '1: nothing is sent to the bank, because the database was restored.',
    'connection',
  ),
  troco_bank_blocked_operations: gauge('Operations that the bank blocks.', 'connection'),
  troco_bank_certificate_end_seconds: gauge(
    'End of the client certificate of a connection, in seconds since 1970.',
    'connection',
  ),
  process_start_time_seconds: gauge('Start of the process, in seconds since 1970.'),
  process_cpu_seconds_total: counter('CPU time used.'),
  process_resident_memory_bytes: gauge('Resident memory.'),
  troco_heap_used_bytes: gauge('Used memory of the heap of JavaScript.'),
  troco_event_loop_lag_seconds: gauge('Longest delay of the event loop since the last scrape.'),
} satisfies Record<string, Metric>

type Metrics = typeof METRICS
type NameOf<Wanted extends Kind> = {
  [Name in keyof Metrics]: Metrics[Name]['kind'] extends Wanted ? Name : never
}[keyof Metrics]

/** A value that is read for a scrape. */
export interface Reading {
  name: NameOf<'gauge' | 'counter'>
  labels?: string[]
  value: number
}

/** Upper bounds of the classes, in seconds: from a fast read to the longest call of a bank. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Distribution {
  labels: string[]
  counts: number[]
  sum: number
}

const state = processWide('metrics', () => ({
  counts: new Map<string, { name: string; labels: string[]; value: number }>(),
  distributions: new Map<string, Distribution & { name: string }>(),
}))

export function increment(name: NameOf<'counter'>, labels: string[], count = 1): void {
  const key = `${name}\0${labels.join('\0')}`
  const known = state.counts.get(key)
  if (known) known.value += count
  else state.counts.set(key, { name, labels, value: count })
}

export function observe(name: NameOf<'histogram'>, labels: string[], seconds: number): void {
  const key = `${name}\0${labels.join('\0')}`
  let known = state.distributions.get(key)
  if (!known) {
    known = { name, labels, counts: Array<number>(BOUNDS.length + 1).fill(0), sum: 0 }
    state.distributions.set(key, known)
  }
  const bound = BOUNDS.findIndex(each => seconds <= each)
  const nth = bound === -1 ? BOUNDS.length : bound
  known.counts[nth] = (known.counts[nth] ?? 0) + 1
  known.sum += seconds
}

/** Formats counts, distributions and readings in the text format 0.0.4 of Prometheus. */
export function renderMetrics(readings: Reading[]): string {
  const simple = Map.groupBy([...state.counts.values(), ...readings], ({ name }) => name)
  const distributions = Map.groupBy(state.distributions.values(), ({ name }) => name)
  const lines: string[] = []
  for (const [name, metric] of Object.entries<Metric>(METRICS)) {
    const values = (simple.get(name) ?? []).map(({ labels = [], value }) =>
      formatLine(name, metric.labels, labels, value),
    )
    const spread = (distributions.get(name) ?? []).flatMap(each =>
      formatDistribution(name, metric.labels, each),
    )
    if (values.length + spread.length === 0) continue
    lines.push(`# HELP ${name} ${metric.help}`, `# TYPE ${name} ${metric.kind}`)
    lines.push(...values, ...spread)
  }
  return `${lines.join('\n')}\n`
}

function formatDistribution(name: string, names: string[], { labels, counts, sum }: Distribution) {
  let count = 0
  const lines = counts.map((each, index) => {
    count += each
    const bound = BOUNDS[index] ?? '+Inf'
    return formatLine(`${name}_bucket`, [...names, 'le'], [...labels, String(bound)], count)
  })
  return [
    ...lines,
    formatLine(`${name}_sum`, names, labels, sum),
    formatLine(`${name}_count`, names, labels, count),
  ]
}

function formatLine(name: string, names: string[], labels: string[], value: number): string {
  const pairs = names.map((label, index) => `${label}="${escapeLabel(labels[index] ?? '')}"`)
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
