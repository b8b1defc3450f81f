import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { ListSheet } from '#components/ui/sheet.tsx'
import {
  Cell,
  CodeCell,
  HeaderCell,
  ROW_LINK,
  Row,
  Table,
  TWO_LINES,
} from '#components/ui/table.tsx'
import { actionMessageKey } from '#lib/audit/actions.ts'
import type { AuditLine } from '#lib/audit/schema.ts'

interface RowsProps {
  isStaff: boolean
  lines: AuditLine[]
  onShow: (line: AuditLine) => void
}

export function AuditRows(props: RowsProps) {
  return (
    <ListSheet>
      <AuditTable {...props} />
      <ul className="@table:hidden">
        {props.lines.map(line => (
          <AuditCard key={line.id} line={line} {...props} />
        ))}
      </ul>
    </ListSheet>
  )
}

function AuditTable({ isStaff, lines, onShow }: RowsProps) {
  const t = useTranslations('audit')
  return (
    <Table aria-label={t('title')}>
      <thead>
        <tr>
          <HeaderCell width={isStaff ? '30%' : '40%'}>{t('action')}</HeaderCell>
          <HeaderCell width={isStaff ? '22%' : '26%'}>{t('actor')}</HeaderCell>
          {isStaff ? <HeaderCell width="20%">{t('account')}</HeaderCell> : null}
          <HeaderCell width={isStaff ? '14%' : '18%'}>{t('ip')}</HeaderCell>
          <HeaderCell width={isStaff ? '14%' : '16%'}>{t('when')}</HeaderCell>
        </tr>
      </thead>
      <tbody>
        {lines.map(line => (
          <Row key={line.id} data-testid="audit-row">
            <Cell className="font-medium">
              <ShowButton line={line} onShow={onShow} />
            </Cell>
            <Cell title={line.actor.email ?? undefined}>
              <span className={TWO_LINES}>
                <ActorName actor={line.actor} />
              </span>
            </Cell>
            {isStaff ? (
              <Cell className="text-muted" title={line.account?.name}>
                <span className={TWO_LINES}>{line.account?.name ?? '—'}</span>
              </Cell>
            ) : null}
            <CodeCell code={line.ip} />
            <Cell className="text-muted text-small">
              <span className="relative z-10">
                <RelativeTime isInRow at={line.created_at} side="end" />
              </span>
            </Cell>
          </Row>
        ))}
      </tbody>
    </Table>
  )
}

function AuditCard({ isStaff, line, onShow }: RowsProps & { line: AuditLine }) {
  return (
    <li
      data-testid="audit-row"
      className="relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 border-line px-4 py-3 not-first:border-t"
    >
      <span className="font-medium">
        <ShowButton line={line} onShow={onShow} />
      </span>
      <span className="relative z-10 self-start text-muted text-small">
        <RelativeTime isInRow at={line.created_at} side="end" />
      </span>
      <span className="col-span-2 wrap-anywhere text-muted text-small">
        <ActorName actor={line.actor} />
        {isStaff && line.account ? ` · ${line.account.name}` : null}
      </span>
    </li>
  )
}

function ShowButton({ line, onShow }: Pick<RowsProps, 'onShow'> & { line: AuditLine }) {
  const actionText = useActionText()
  return (
    <button
      type="button"
      aria-haspopup="dialog"
      onClick={() => onShow(line)}
      className={`text-left ${ROW_LINK}`}
    >
      {actionText(line.action)}
      <ObjectName line={line} />
    </button>
  )
}

const NAMES = ['name', 'email', 'url', 'role'] as const
const SHORT_ID_LENGTH = 8

/** What the action was about: its name as recorded, else the end of its id. */
function ObjectName({ line: { before, after, target } }: { line: AuditLine }) {
  const recorded = { ...before, ...after }
  const name = NAMES.map(key => recorded[key]).find(value => typeof value === 'string')
  const text = name ?? (target && `…${target.slice(-SHORT_ID_LENGTH)}`)
  if (!text) return null
  return (
    <span className={`font-normal text-muted text-small ${TWO_LINES}`} data-testid="audit-object">
      {text}
    </span>
  )
}

interface RecordLinesProps {
  label: string
  lines: AuditLine[]
  /** Address of the audit log with all of them. */
  href: string
  hrefText: string
}

export function RecordLines({ label, lines, href, hrefText }: RecordLinesProps) {
  const actionText = useActionText()
  return (
    <>
      <ul aria-label={label}>
        {lines.map(line => (
          <li
            key={line.id}
            className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 border-line py-2.5 not-first:border-t"
          >
            <p className="truncate font-medium">{actionText(line.action)}</p>
            <p className="text-muted text-small">
              <RelativeTime at={line.created_at} side="end" />
            </p>
            <p className="col-span-2 break-words text-muted text-small">
              <ActorName actor={line.actor} />
              {line.reason ? ` · ${line.reason}` : null}
            </p>
          </li>
        ))}
      </ul>
      <Link
        href={href}
        prefetch={false}
        className="mt-3 inline-block font-semibold text-accent hover:underline"
      >
        {hrefText}
      </Link>
    </>
  )
}

/** Translates an action. An unknown action, recorded by another version, is shown as its code. */
export function useActionText(): (action: string) => string {
  const t = useTranslations('auditAction')
  return action => {
    const messageKey = actionMessageKey(action)
    return messageKey ? t(messageKey) : action
  }
}

export function ActorName({ actor }: { actor: AuditLine['actor'] }) {
  const t = useTranslations('auditActor')
  return actor.name ?? t(actor.kind)
}
