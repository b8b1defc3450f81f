import { useTranslations } from 'next-intl'
import { ActorName, useActionText } from '#components/audit/names.tsx'
import { RelativeTime } from '#components/format/format.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { Cell, CodeCell, HeaderCell, ROW_LINK, Row, Table } from '#components/ui/table.tsx'
import type { AuditLine } from '#lib/base/audit/schema.ts'

interface RowsProps {
  isStaff: boolean
  lines: AuditLine[]
  onShow: (line: AuditLine) => void
}

export function AuditRows(props: RowsProps) {
  return (
    <Sheet>
      <AuditTable {...props} />
      <ul className="lg:hidden">
        {props.lines.map(line => (
          <AuditCard key={line.id} line={line} {...props} />
        ))}
      </ul>
    </Sheet>
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
            <Cell className="truncate font-medium">
              <ShowButton line={line} onShow={onShow} />
            </Cell>
            <Cell className="truncate" title={line.actor.email ?? undefined}>
              <ActorName actor={line.actor} />
            </Cell>
            {isStaff ? (
              <Cell className="truncate text-muted" title={line.account?.name}>
                {line.account?.name ?? '—'}
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
      <span className="col-span-2 truncate text-muted text-small">
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
      className={`max-w-full truncate text-left max-lg:whitespace-normal ${ROW_LINK}`}
    >
      {actionText(line.action)}
    </button>
  )
}
