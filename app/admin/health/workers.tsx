import { useTranslations } from 'next-intl'
import { useDurations } from '#components/format/duration.ts'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { ListSheet } from '#components/ui/sheet.tsx'
import { Cell, HeaderCell, Row, Table } from '#components/ui/table.tsx'
import type { WorkerLine } from '#lib/operator/schema.ts'

export const WORKERS_ID = 'health-workers'

/** Active workers, and those that stopped reporting within the last day. */
export function Workers({ workers }: { workers: WorkerLine[] }) {
  const t = useTranslations('health')
  const { inWords } = useDurations()
  if (workers.length === 0) return null
  return (
    <section aria-labelledby={WORKERS_ID}>
      <h2 id={WORKERS_ID} className="mb-2.5 scroll-mt-6 text-title">
        {t('workers.title')}
      </h2>
      <ListSheet>
        <Table aria-labelledby={WORKERS_ID}>
          <thead>
            <tr>
              <HeaderCell width="40%">{t('workers.host')}</HeaderCell>
              <HeaderCell width="18%">{t('workers.pid')}</HeaderCell>
              <HeaderCell width="21%">{t('workers.since')}</HeaderCell>
              <HeaderCell width="21%">{t('workers.beat')}</HeaderCell>
            </tr>
          </thead>
          <tbody>
            {workers.map(worker => (
              <Row key={worker.id}>
                <Cell className="wrap-anywhere font-medium">{worker.host}</Cell>
                <Cell className="font-mono text-[13px] text-muted">{worker.pid}</Cell>
                <Cell className="text-muted text-small">
                  <RelativeTime at={worker.started_at} />
                </Cell>
                <Cell className="text-muted text-small tabular-nums">
                  {t('workers.ago', { time: inWords(worker.silent_s) })}
                </Cell>
              </Row>
            ))}
          </tbody>
        </Table>
        <ul className="@table:hidden">
          {workers.map(worker => (
            <li
              key={worker.id}
              className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 border-line px-4 py-3 not-first:border-t"
            >
              <span className="wrap-anywhere font-medium">
                {worker.host} · {worker.pid}
              </span>
              <span className="text-muted text-small tabular-nums">
                {t('workers.ago', { time: inWords(worker.silent_s) })}
              </span>
            </li>
          ))}
        </ul>
      </ListSheet>
    </section>
  )
}
