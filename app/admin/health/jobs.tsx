'use client'

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Play } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { JobRow } from '#app/admin/health/job-row.tsx'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { JobKind, StuckJob } from '#lib/operator/schema.ts'

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
    mutationFn: (body: RequeueRequest) =>
      api.send<{ data: { requeued: number } }>('POST', '/admin/jobs/requeue', { body }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['health'] }),
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
