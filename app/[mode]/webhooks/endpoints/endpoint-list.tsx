import Link from 'next/link'
import { useTranslations } from 'next-intl'
import {
  EndpointHealth,
  EndpointState,
  EndpointTrouble,
} from '#app/[mode]/webhooks/endpoints/endpoint-state.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { ROW_LINK } from '#components/ui/table.tsx'
import type { Mode } from '#lib/core/mode.ts'
import type { Endpoint } from '#lib/webhooks/schema.ts'
import { EVENT_TYPES } from '#lib/webhooks/states.ts'

interface EndpointListProps {
  endpoints: Endpoint[]
  mode: Mode
}

export function EndpointList({ endpoints, mode }: EndpointListProps) {
  const t = useTranslations('endpoints')
  return (
    <Sheet>
      <ul aria-label={t('title')}>
        {endpoints.map(endpoint => (
          <li
            key={endpoint.id}
            data-testid="endpoint-row"
            className="relative grid gap-x-6 gap-y-1.5 border-line px-4 py-4 not-first:border-t first:rounded-t-sheet last:rounded-b-sheet has-[a:hover]:bg-paper md:grid-cols-[minmax(0,1fr)_max-content] md:px-[18px]"
          >
            <Link
              href={`/${mode}/webhooks/endpoints/${endpoint.id}`}
              prefetch={false}
              title={endpoint.url}
              className={`min-w-0 font-semibold ${ROW_LINK}`}
            >
              <span className="line-clamp-2 break-all">{endpoint.url}</span>
            </Link>
            <div className="max-md:row-start-3 md:justify-self-end">
              <EndpointState endpoint={endpoint} />
            </div>
            <p className="min-w-0 text-muted text-small">
              {endpoint.event_types.length === EVENT_TYPES.length
                ? t('allEvents')
                : t('someEvents', { count: endpoint.event_types.length, of: EVENT_TYPES.length })}
              {' · '}
              <EndpointHealth health={endpoint.health} />
            </p>
            {endpoint.disabled_at || endpoint.failing_since ? (
              <p className="relative z-10 text-bad text-small md:justify-self-end">
                <EndpointTrouble endpoint={endpoint} />
              </p>
            ) : null}
          </li>
        ))}
      </ul>
    </Sheet>
  )
}
