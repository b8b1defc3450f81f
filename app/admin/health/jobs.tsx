'use client'

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Play } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Problem, useDeliveryProblem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useDurations } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { operatorQueries } from '#components/queries/operator.ts'
import { Button } from '#components/ui/button.tsx'
import { type Column, DataList } from '#components/ui/data-list.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { CALL_CODES, type JobKind, type StuckJob, type WorkerLine } from '#lib/operator/schema.ts'
import type { Attempt } from '#lib/webhooks/schema.ts'

export const JOBS_ID = 'health-jobs'

interface RequeueRequest {
  kind: JobKind
  id?: string
  account_id?: string
}

export function Jobs({ jobs }: { jobs: StuckJob[] }) {
  const t = useTranslations('health')
  const api = useApi()
  const queryClient = useQueryClient()
  const run = useMutation({
    mutationFn: (body: RequeueRequest) => api.post('/admin/jobs/requeue', { body }),
    onSettled: () =>
      queryClient.invalidateQueries({ queryKey: operatorQueries.health(api).queryKey }),
  })
  const kinds = [...new Set(jobs.map(({ kind }) => kind))].filter(
    kind => jobs.filter(job => job.kind === kind && job.can_run).length > 1,
  )
  return (
    <section aria-labelledby={JOBS_ID}>
      <h2 id={JOBS_ID} className="scroll-mt-6 text-title">
        {t('jobs.title')}
      </h2>
      <p className="mt-1 mb-3 max-w-[80ch] text-muted text-small">{t('jobs.text')}</p>
      {run.error ? (
        <div className="mb-3">
          <Problem error={run.error} />
        </div>
      ) : null}
      <p role="status" className="text-muted text-small empty:hidden not-empty:mb-3">
        {run.data ? t('jobs.ran', { count: run.data.data.requeued }) : null}
      </p>
      {kinds.length > 0 ? (
        <div className="mb-3 flex flex-wrap gap-2">
          {kinds.map(kind => (
            <Button
              key={kind}
              variant="quiet"
              disabled={run.isPending}
              onClick={() => run.mutate({ kind })}
              className="text-small"
            >
              <Play size={15} aria-hidden />
              {t('jobs.runAll', { kind: t(`jobKind.${kind}`) })}
            </Button>
          ))}
        </div>
      ) : null}
      <Sheet>
        {jobs.length === 0 ? (
          <p className="px-4 py-4 text-muted text-small md:px-6">{t('jobs.none')}</p>
        ) : (
          <ul>
            {jobs.map(job => (
              <JobRow
                key={job.id}
                job={job}
                isBusy={run.isPending}
                onRun={() =>
                  run.mutate({ kind: job.kind, id: job.id, account_id: job.account?.id })
                }
              />
            ))}
          </ul>
        )}
      </Sheet>
    </section>
  )
}

interface JobRowProps {
  job: StuckJob
  isBusy: boolean
  onRun: () => void
}

function JobRow({ job, isBusy, onRun }: JobRowProps) {
  const t = useTranslations('health')
  const kind = t(`jobKind.${job.kind}`)
  const problem = useLastProblem(job)
  const cannotRunReason = job.kind === 'mail' ? t('jobs.gone') : t('jobs.disabled')
  return (
    <li
      data-testid="stuck-job"
      className="grid gap-x-6 gap-y-2 border-line px-4 py-3.5 not-first:border-t md:grid-cols-[minmax(0,1fr)_auto] md:items-center md:px-6"
    >
      <div className="min-w-0">
        <p className="flex flex-wrap items-baseline gap-x-3">
          <span className="font-medium">{kind}</span>
          {job.account ? (
            <Link
              href={`/admin/accounts/${job.account.id}`}
              prefetch={false}
              className="min-w-0 truncate text-small hover:underline"
            >
              {job.account.name}
            </Link>
          ) : null}
          <code className="break-all font-mono text-[12.5px] text-muted">{job.id}</code>
        </p>
        <dl className="mt-1 flex flex-wrap gap-x-5 gap-y-0.5 text-small">
          <JobFact name={t('jobs.attempts')}>{job.attempts}</JobFact>
          <JobFact name={t('jobs.due')}>
            {job.is_held ? (
              t('jobs.held')
            ) : job.due_at ? (
              <RelativeTime at={job.due_at} />
            ) : (
              t('jobs.never')
            )}
          </JobFact>
          {problem ? (
            <JobFact name={t('jobs.problem')}>
              <span className="break-words">{problem}</span>
            </JobFact>
          ) : null}
        </dl>
      </div>
      {job.can_run ? (
        <Button
          variant="quiet"
          disabled={isBusy || job.is_held}
          onClick={onRun}
          aria-label={t('jobs.runOne', { kind, id: job.id })}
          className="justify-self-start text-small disabled:opacity-50"
        >
          <Play size={15} aria-hidden />
          {t('jobs.run')}
        </Button>
      ) : (
        <span className="text-muted text-small">{cannotRunReason}</span>
      )}
    </li>
  )
}

/** Translates the result of the last attempt. Quotes the bank's message unchanged. */
function useLastProblem({ problem_code: code, problem_params }: StuckJob): string | null {
  const t = useTranslations('health')
  const { meaning } = useDeliveryProblem()
  const call = CALL_CODES.find(known => known === code)
  if (call) return t(`jobs.call.${call}`, problem_params ?? {})
  return meaning({ problem_code: code as Attempt['problem_code'], problem_params })
}

function JobFact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-w-0 gap-1.5">
      <dt className="shrink-0 text-muted">{name}:</dt>
      <dd className="min-w-0">{children}</dd>
    </div>
  )
}

export const WORKERS_ID = 'health-workers'

/** Active workers, and those that stopped reporting within the last day. */
export function Workers({ workers }: { workers: WorkerLine[] }) {
  const t = useTranslations('health')
  const tWhen = useTranslations('when')
  const { inWords } = useDurations()
  if (workers.length === 0) return null
  const lastBeat = ({ silent_s: silent }: WorkerLine) =>
    silent === 0 ? tWhen('now') : t('workers.ago', { time: inWords(silent) })
  const columns: Column<WorkerLine>[] = [
    {
      head: t('workers.host'),
      cell: ({ host }) => <span className="wrap-anywhere font-medium">{host}</span>,
      card: 'title',
    },
    {
      head: t('workers.pid'),
      width: '18%',
      cell: ({ pid }) => <span className="font-mono text-[13px] text-muted">{pid}</span>,
      card: 'left',
      isNamedOnCard: true,
    },
    {
      head: t('workers.since'),
      width: '21%',
      cell: ({ started_at: at }) => <RelativeTime at={at} />,
      look: 'muted',
    },
    { head: t('workers.beat'), width: '21%', cell: lastBeat, look: 'muted', card: 'aside' },
  ]
  return (
    <section aria-labelledby={WORKERS_ID}>
      <h2 id={WORKERS_ID} className="mb-2.5 scroll-mt-6 text-title">
        {t('workers.title')}
      </h2>
      <DataList
        label={t('workers.title')}
        columns={columns}
        items={workers}
        keyOf={({ id }) => id}
      />
    </section>
  )
}
