import { useTranslations } from 'next-intl'
import { ActorName, useActionText } from '#components/audit/names.tsx'
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
                <RelativeTime at={line.created_at} side="end" />
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
        <RelativeTime at={line.created_at} side="end" />
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
    </button>
  )
}
