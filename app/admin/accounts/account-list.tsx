import { Check, Clock, type LucideIcon, Pause } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { SelectBox } from '#app/admin/accounts/list-actions.tsx'
import { Money } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Chip, type Tone } from '#components/ui/chip.tsx'
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
import type { AccountStatus } from '#lib/accounts/schema.ts'
import type { AccountLine, PerMode } from '#lib/operator/schema.ts'

export function AccountList({ accounts }: { accounts: AccountLine[] }) {
  const t = useTranslations('accounts')
  const selectable = accounts.map(({ id, name }) => ({ id, name }))
  const selection = useTranslations('accountSelection')
  return (
    <ListSheet>
      <Table aria-label={t('title')}>
        <thead>
          <tr>
            <td className="w-12 pl-2">
              <SelectBox accounts={selectable} label={selection('all')} />
            </td>
            <HeaderCell>{t('name')}</HeaderCell>
            <HeaderCell width="132px">{t('status')}</HeaderCell>
            <HeaderCell width="165px" isWideOnly>
              {t('created')}
            </HeaderCell>
            <HeaderCell width="176px" side="right">
              {t('balance')}
            </HeaderCell>
            <HeaderCell width="176px" side="right">
              {t('volume')}
            </HeaderCell>
          </tr>
        </thead>
        <tbody>
          {accounts.map(account => (
            <Row key={account.id}>
              <td className="w-12 pl-2">
                <SelectAccount account={account} />
              </td>
              <Cell title={account.name}>
                <AccountName account={account} />
              </Cell>
              <Cell>
                <AccountState status={account.status} />
              </Cell>
              <Cell className={`text-muted text-small ${WIDE_ONLY}`}>
                <span className="relative z-10">
                  <RelativeTime at={account.created_at} />
                </span>
              </Cell>
              <Cell className="text-right">
                <BothModes amounts={account.balance} />
              </Cell>
              <Cell className="text-right">
                <BothModes amounts={account.volume} />
              </Cell>
            </Row>
          ))}
        </tbody>
      </Table>
      <div className="flex items-center gap-x-3 border-line border-b px-4 py-1 @table:hidden">
        <div className="-mr-2 -ml-2.5">
          <SelectBox accounts={selectable} label={selection('all')} />
        </div>
        <span aria-hidden className="text-muted text-small">
          {selection('all')}
        </span>
      </div>
      <ul className="@table:hidden">
        {accounts.map(account => (
          <AccountCard key={account.id} account={account} />
        ))}
      </ul>
    </ListSheet>
  )
}

function SelectAccount({ account: { id, name } }: { account: AccountLine }) {
  const t = useTranslations('accountSelection')
  return <SelectBox accounts={[{ id, name }]} label={t('one', { name })} />
}

function AccountName({ account }: { account: AccountLine }) {
  const t = useTranslations('accounts')
  return (
    <>
      <Link
        href={`/admin/accounts/${account.id}`}
        prefetch={false}
        className={`block font-medium ${ROW_LINK}`}
      >
        <span className={TWO_LINES}>{account.name}</span>
      </Link>
      <span className={`text-muted text-small ${TWO_LINES}`}>
        {account.owner_email ?? t('nobody')}
      </span>
    </>
  )
}

function BothModes({ amounts }: { amounts: PerMode }) {
  const t = useTranslations('accounts')
  return (
    <>
      <span className="block font-semibold">
        <Money cents={amounts.live} />
      </span>
      <span className="block text-muted text-small">
        {t('inTest')} <Money cents={amounts.test} />
      </span>
    </>
  )
}

function AccountCard({ account }: { account: AccountLine }) {
  const t = useTranslations('accounts')
  return (
    <li className="relative grid gap-2.5 border-line px-4 py-3.5 not-first:border-t">
      <div className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-start gap-x-3">
        <div className="-mt-2 -mr-2 -ml-2.5">
          <SelectAccount account={account} />
        </div>
        <div className="min-w-0">
          <AccountName account={account} />
        </div>
        <AccountState status={account.status} />
      </div>
      <dl className="grid grid-cols-2 gap-x-3">
        <div>
          <dt className="text-muted text-small">{t('balance')}</dt>
          <dd>
            <BothModes amounts={account.balance} />
          </dd>
        </div>
        <div className="text-right">
          <dt className="text-muted text-small">{t('volume')}</dt>
          <dd>
            <BothModes amounts={account.volume} />
          </dd>
        </div>
      </dl>
    </li>
  )
}

const STATUS_STYLES: Record<AccountStatus, { tone: Tone; icon: LucideIcon }> = {
  active: { tone: 'ok', icon: Check },
  pending: { tone: 'wait', icon: Clock },
  suspended: { tone: 'bad', icon: Pause },
}

export function AccountState({ status }: { status: AccountStatus }) {
  const t = useTranslations('accountStatus')
  return (
    <span data-testid="account-status">
      <Chip {...STATUS_STYLES[status]}>{t(status)}</Chip>
    </span>
  )
}
