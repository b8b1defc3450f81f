import { CircleCheck, CircleX, Info } from 'lucide-react'
import { Fragment } from 'react'
import { Chip } from '#components/ui/chip.tsx'
import { TWO_LINES } from '#components/ui/table.tsx'
import type { LoggedRequest } from '#lib/dashboard/requests/schema.ts'

type RequestPathProps = { request: Pick<LoggedRequest, 'path' | 'resource_id'> }

/** Matches the last parameter of a path. */
const LAST_PARAMETER = /\{\w+\}(?!.*\{)/

/** Shows a path with the id of its resource; it breaks after its slashes. */
export function RequestPath({ request: { path, resource_id: id } }: RequestPathProps) {
  const [, ...segments] = (id ? path.replace(LAST_PARAMETER, id) : path).split('/')
  return (
    <span className="wrap-anywhere">
      {segments.map((segment, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: segments have no id and never move
        <Fragment key={index}>
          /<wbr />
          {segment}
        </Fragment>
      ))}
    </span>
  )
}

type RequestStatusProps = { request: Pick<LoggedRequest, 'status' | 'code'> }

/** Shows the status of a response and its error code. */
export function RequestStatus({ request: { status, code } }: RequestStatusProps) {
  const [tone, icon] =
    status >= 500
      ? (['bad', CircleX] as const)
      : status >= 400
        ? (['wait', Info] as const)
        : (['ok', CircleCheck] as const)
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1">
      <Chip tone={tone} icon={icon}>
        {String(status)}
      </Chip>
      {code ? (
        <span className={`min-w-0 font-mono text-[12.5px] text-muted ${TWO_LINES}`}>{code}</span>
      ) : null}
    </span>
  )
}
