import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { Money, When } from '#components/format.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { Cell, Head, ROW_LINK, Row, Table } from '#components/ui/table.tsx'
import { WithdrawalState } from '#components/withdrawals/status.tsx'
import { maskPixKey, normalizePixKey } from '#lib/pix/pix-key.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

interface RowsProps {
  withdrawals: WithdrawalRow[]
}

/** Withdrawals: a table where there is room, else a card each. */
export function WithdrawalRows({ withdrawals }: RowsProps) {
  return (
    <Sheet>
      <WithdrawalTable withdrawals={withdrawals} />
      <ul className="md:hidden">
        {withdrawals.map(withdrawal => (
          <WithdrawalCard key={withdrawal.id} withdrawal={withdrawal} />
        ))}
      </ul>
    </Sheet>
  )
}

function WithdrawalTable({ withdrawals }: RowsProps) {
  const t = useTranslations('withdrawals')
  return (
    <Table aria-label={t('title')}>
      <thead>
        <tr>
          <Head width="32%">{t('key')}</Head>
          <Head width="19%">{t('reference')}</Head>
          <Head width="16%">{t('status')}</Head>
          <Head width="15%">{t('created')}</Head>
          <Head width="18%" side="right">
            {t('amount')}
          </Head>
        </tr>
      </thead>
      <tbody>
        {withdrawals.map(withdrawal => (
          <Row key={withdrawal.id}>
            <Cell>
              <Target withdrawal={withdrawal} />
            </Cell>
            <Cell
              className="truncate font-mono text-[13px] text-muted"
              title={withdrawal.external_id ?? undefined}
            >
              {withdrawal.external_id ?? '—'}
            </Cell>
            <Cell>
              <WithdrawalState status={withdrawal.status} />
            </Cell>
            <Cell className="text-muted text-small">
              <span className="relative z-10">
                <When at={withdrawal.created_at} />
              </span>
            </Cell>
            <Cell className="text-right font-semibold">
              <Money cents={withdrawal.amount} />
            </Cell>
          </Row>
        ))}
      </tbody>
    </Table>
  )
}

function WithdrawalCard({ withdrawal }: { withdrawal: WithdrawalRow }) {
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 border-line px-4 py-3 not-first:border-t">
      <Target withdrawal={withdrawal} />
      <span className="self-start text-right font-semibold">
        <Money cents={withdrawal.amount} />
      </span>
      <span className="flex min-w-0 gap-2 text-muted text-small">
        <span className="relative z-10">
          <When at={withdrawal.created_at} />
        </span>
        <span className="truncate font-mono text-[12.5px] leading-[21px]">
          {withdrawal.external_id}
        </span>
      </span>
      <span className="justify-self-end">
        <WithdrawalState status={withdrawal.status} />
      </span>
    </li>
  )
}

/** Where it goes, as far as a list may show it; it leads to the withdrawal. */
function Target({ withdrawal }: { withdrawal: WithdrawalRow }) {
  const t = useTranslations('pixKey')
  const { id, mode, pix_key_type: type, pix_key } = withdrawal
  const read = normalizePixKey(type, pix_key, 'form')
  return (
    <Link href={`/${mode}/withdrawals/${id}`} prefetch={false} className={`block ${ROW_LINK}`}>
      <span className="block truncate font-medium">
        {maskPixKey(type, read.ok ? read.key : pix_key)}
      </span>
      <span className="block text-muted text-small">{t(type)}</span>
    </Link>
  )
}
