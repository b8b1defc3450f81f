import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { RequestPath } from '#app/[mode]/requests/path.tsx'
import { RequestStatus } from '#app/[mode]/requests/status.tsx'
import { useDurations } from '#components/format/duration.ts'
import { RelativeTime } from '#components/format/format.tsx'
import { ListSheet } from '#components/ui/sheet.tsx'
import {
  Cell,
  HeaderCell,
  ROW_LINK,
  Row,
  Table,
  TWO_LINES,
  WIDE_ONLY,
} from '#components/ui/table.tsx'
import type { LoggedRequest } from '#lib/dashboard/requests/schema.ts'

export function RequestRows({ requests }: { requests: LoggedRequest[] }) {
  const t = useTranslations('requests')
  const { callDuration } = useDurations()
  return (
    <ListSheet>
      <Table aria-label={t('title')}>
        <thead>
          <tr>
            <HeaderCell>{t('one')}</HeaderCell>
            <HeaderCell width="25%">{t('status')}</HeaderCell>
            <HeaderCell width="12%" isWideOnly>
              {t('token_id')}
            </HeaderCell>
            <HeaderCell width="104px" side="right">
              {t('duration')}
            </HeaderCell>
            <HeaderCell width="140px">{t('time')}</HeaderCell>
          </tr>
        </thead>
        <tbody>
          {requests.map(request => (
            <Row key={request.id}>
              <Cell>
                <RequestLink request={request} />
              </Cell>
              <Cell>
                <RequestStatus request={request} />
              </Cell>
              <Cell className={`text-muted ${WIDE_ONLY}`}>
                <span className={TWO_LINES}>{request.token_name}</span>
              </Cell>
              <Cell className="whitespace-nowrap text-right text-muted text-small">
                {callDuration(request.duration_ms)}
              </Cell>
              <Cell className="text-muted text-small">
                <span className="relative z-10">
                  <RelativeTime at={request.created_at} side="end" />
                </span>
              </Cell>
            </Row>
          ))}
        </tbody>
      </Table>
      <ul className="@table:hidden">
        {requests.map(request => (
          <li
            key={request.id}
            className="relative flex flex-col gap-1.5 border-line px-4 py-3.5 not-first:border-t"
          >
            <RequestLink request={request} />
            <div className="flex items-end justify-between gap-3">
              <RequestStatus request={request} />
              <span className="relative z-10 shrink-0 text-muted text-small">
                <RelativeTime at={request.created_at} side="end" />
              </span>
            </div>
          </li>
        ))}
      </ul>
    </ListSheet>
  )
}

function RequestLink({ request: { id, mode, method, path } }: { request: LoggedRequest }) {
  return (
    <Link
      href={`/${mode}/requests/${id}`}
      prefetch={false}
      className={`block font-mono text-[13px] leading-[1.5] ${ROW_LINK}`}
    >
      <span className="font-semibold">{method}</span> <RequestPath path={path} />
    </Link>
  )
}
