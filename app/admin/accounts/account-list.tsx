import { Check, Clock, type LucideIcon, Pause } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { SelectBox } from '#app/admin/accounts/list-actions.tsx'
import { Money } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import { type Column, DataList } from '#components/ui/data-list.tsx'
import { ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import type { AccountStatus } from '#lib/accounts/schema.ts'
import type { AccountLine, PerMode } from '#lib/operator/schema.ts'

export function AccountList({ accounts }: { accounts: AccountLine[] }) {
  const t = useTranslations('accounts')
  const selection = useTranslations('accountSelection')
  const columns: Column<AccountLine>[] = [
    {
      head: selection('all'),
      control: (
        <SelectBox
          accounts={accounts.map(({ id, name }) => ({ id, name }))}
          label={selection('all')}
        />
      ),
      width: '48px',
      cell: ({ id, name }) => (
        <SelectBox accounts={[{ id, name }]} label={selection('one', { name })} />
      ),
      look: 'control',
      card: 'control',
    },
    {
      head: t('name'),
      cell: account => <AccountName account={account} />,
      title: ({ name }) => name,
      card: 'title',
    },
    {
      head: t('status'),
      width: '132px',
      cell: ({ status }) => <AccountState status={status} />,
      card: 'aside',
    },
    {
      head: t('created'),
      width: '165px',
      cell: ({ created_at: at }) => (
        <span className="relative z-10">
          <RelativeTime at={at} />
        </span>
      ),
      look: 'muted',
      isWideOnly: true,
    },
    {
      head: t('balance'),
      width: '176px',
      cell: ({ balance }) => <BothModes amounts={balance} />,
      look: 'right',
      card: 'fact',
    },
    {
      head: t('volume'),
      width: '176px',
      cell: ({ volume }) => <BothModes amounts={volume} />,
      look: 'right',
      card: 'fact',
    },
  ]
  return <DataList label={t('title')} columns={columns} items={accounts} keyOf={({ id }) => id} />
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
