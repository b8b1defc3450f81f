import { ArrowRight } from 'lucide-react'
import Link from 'next/link'
import { useAttemptText } from '#app/[mode]/webhooks/attempt-text.ts'
import { DeliveryState } from '#app/[mode]/webhooks/delivery-state.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { ROW_LINK } from '#components/ui/table.tsx'
import type { Delivery } from '#lib/webhooks/schema.ts'

export const COLUMNS_CLASS = '@table:grid-cols-[minmax(0,1fr)_196px_150px]'

interface DeliveryRowProps {
  delivery: Delivery
  href: string
  isSelected: boolean
}

export function DeliveryRow({ delivery, href, isSelected }: DeliveryRowProps) {
  const { withTime } = useAttemptText()
  const { type } = delivery
  return (
    <li
      data-testid="delivery-row"
      className={`relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1.5 border-line px-4 py-3 not-first:border-t has-[a:hover]:bg-paper @table:min-h-[67px] @table:px-[18px] @table:py-2.5 ${COLUMNS_CLASS} ${isSelected ? 'bg-accent-soft' : ''}`}
    >
      <div className="min-w-0 @max-table:col-span-2">
        <Link
          href={href}
          prefetch={false}
          scroll={false}
          aria-current={isSelected ? 'true' : undefined}
          className={`block wrap-anywhere font-mono font-semibold text-[13.5px] leading-[1.6] ${ROW_LINK}`}
        >
          {type}
        </Link>
        <p className="line-clamp-3 wrap-anywhere text-muted text-small" title={delivery.url}>
          <span className="inline-block max-w-full truncate align-bottom">
            {delivery.subject_reference ?? delivery.subject_id}
          </span>
          <ArrowRight size={13} aria-hidden className="mx-1.5 inline" />
          {hostAndPathOf(delivery.url)}
        </p>
      </div>
      <div>
        <DeliveryState delivery={delivery} />
      </div>
      <div className="text-right text-muted text-small">
        <p className="relative z-10 inline-block">
          <RelativeTime isInRow at={delivery.created_at} side="end" />
        </p>
        <p>{withTime(lastAttemptOf(delivery), delivery.last_duration_ms)}</p>
      </div>
    </li>
  )
}

function lastAttemptOf(delivery: Delivery) {
  return {
    response_status: delivery.last_response_status,
    problem_code: delivery.last_problem_code,
    problem_params: delivery.last_problem_params,
  }
}

export function hostAndPathOf(url: string): string {
  return url.replace(/^https?:\/\//, '').replace(/[?#].*/s, '')
}
