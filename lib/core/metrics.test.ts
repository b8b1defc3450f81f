import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { increment, METRICS, observe, renderMetrics } from '#lib/core/metrics.ts'

const rules = readFileSync('docs/monitoring/alerts.yml', 'utf8')
const dashboard = JSON.parse(readFileSync('docs/monitoring/dashboard.json', 'utf8')) as {
  panels: { title: string; targets: { expr: string }[] }[]
}
const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))

/** Returns metrics, and selected labels of them, that an expression names and no process has. */
function findUnknown(expressions: string): string[] {
  const named = expressions.matchAll(/\b((?:troco|process)_[a-z_]+)(?:\{([^}]*)\})?/g)
  return [...named].flatMap(([, name = '', selectors = '']) => {
    const base = name.replace(/_(bucket|sum|count)$/, '')
    const entry = Object.entries(METRICS).find(
      ([known, { kind }]) => known === (kind === 'histogram' ? base : name),
    )
    if (!entry) return [name]
    const labels = ['job', 'instance', ...entry[1].labels]
    const selected = [...selectors.matchAll(/([a-z]+)(?:=|!)/g)].map(([, label = '']) => label)
    return selected.filter(label => !labels.includes(label)).map(label => `${name} ${label}`)
  })
}

test('rules and dashboard name only metrics and labels that a process has', () => {
  expect(findUnknown('rate(troco_nothing[5m]) + troco_workers{host="x"}')).toEqual([
    'troco_nothing',
    'troco_workers host',
  ])
  expect(findUnknown(rules)).toEqual([])
  expect(queries.length).toBeGreaterThan(dashboard.panels.length)
  expect(findUnknown(queries.join('\n'))).toEqual([])
})

test('every alert and fault has a runbook with three things to look at, and none is left over', () => {
  const alerts = [...rules.matchAll(/- alert: Troco(\w+)/g)].map(([, name = '']) => name)
  const runbooks = [...rules.matchAll(/runbook: docs\/runbooks\/(\S+)$/gm)].map(([, file]) => file)
  const expected = alerts.map(name => `${name.replace(/(?<!^)[A-Z]/g, '-$&').toLowerCase()}.md`)
  expect(runbooks).toEqual(expected)
  const page = readFileSync('docs/operate/failover.md', 'utf8')
  const ofFaults = [...page.matchAll(/\]\(\.\.\/runbooks\/(\S+)\)/g)].map(([, file = '']) => file)
  const all = [...new Set([...expected, ...ofFaults])].toSorted()
  expect(readdirSync('docs/runbooks').toSorted()).toEqual(all)
  for (const file of all) {
    const text = readFileSync(`docs/runbooks/${file}`, 'utf8')
    expect(text, file).toMatch(
      /^# .+\n\n.+?\n\n1\. .+\n2\. .+\n3\. .+\n\n\*\*Recovery\.\*\* .+\n$/s,
    )
    expect(findUnknown(text), file).toEqual([])
    const links = [...text.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, link = '']) => link)
    expect(
      links.filter(link => !all.includes(link)),
      file,
    ).toEqual([])
  }
})

test('a distribution has cumulative counts, and labels are escaped', () => {
  observe('troco_bank_call_seconds', ['a "b" \\ c\nd', 'op'], 0.005)
  observe('troco_bank_call_seconds', ['a "b" \\ c\nd', 'op'], 0.3)
  observe('troco_bank_call_seconds', ['a "b" \\ c\nd', 'op'], 60)
  const lines = renderMetrics([]).split('\n')
  const labels = String.raw`connection="a \"b\" \\ c\nd",operation="op"`
  const bucketOf = (bound: string) => {
    const series = `troco_bank_call_seconds_bucket{${labels},le="${bound}"} `
    return lines.find(line => line.startsWith(series))?.slice(series.length)
  }
  const bounds = ['0.005', '0.25', '0.5', '10', '+Inf']
  expect(bounds.map(bucketOf)).toEqual(['1', '1', '2', '2', '3'])
  expect(lines).toContain(`troco_bank_call_seconds_sum{${labels}} 60.305`)
  expect(lines).toContain(`troco_bank_call_seconds_count{${labels}} 3`)
})

test('a counter and readings of one name are one metric', () => {
  increment('troco_job_failures_total', ['of no worker'])
  increment('troco_job_failures_total', ['of no worker'])
  const text = renderMetrics([{ name: 'troco_queue_due', labels: ['mails'], value: 3 }])
  expect(text).toContain('troco_job_failures_total{task="of no worker"} 2\n')
  expect(text).toContain('# TYPE troco_queue_due gauge\ntroco_queue_due{queue="mails"} 3\n')
})
