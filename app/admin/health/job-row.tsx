import { Play } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { useDeliveryProblem } from '#components/status/problem-text.ts'
import { Button } from '#components/ui/button.tsx'
import { CALL_CODES, type StuckJob } from '#lib/operator/schema.ts'
import type { Attempt } from '#lib/webhooks/schema.ts'

interface JobRowProps {
  job: StuckJob
  isBusy: boolean
  onRun: () => void
}

export function JobRow({ job, isBusy, onRun }: JobRowProps) {
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
