import { Check, Clock, type LucideIcon, Pause } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { When } from '#components/format.tsx'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { Cell, Head, Row, Table } from '#components/ui/table.tsx'
import type { AccountStatus } from '#lib/accounts/schema.ts'

const LOOKS: Record<AccountStatus, { tone: Tone; icon: LucideIcon }> = {
  active: { tone: 'ok', icon: Check },
  pending: { tone: 'wait', icon: Clock },
  suspended: { tone: 'bad', icon: Pause },
}

export interface AccountLine {
  id: string
  name: string
  ownerEmail: string | null
  status: AccountStatus
  createdAt: string
}

/** Every merchant of this installation, for the operator. */
export function AccountList({ accounts }: { accounts: AccountLine[] }) {
  const t = useTranslations('accounts')
  return (
    <Sheet>
      <Table aria-label={t('title')}>
        <thead>
          <tr>
            <Head width="32%">{t('name')}</Head>
            <Head width="33%">{t('owner')}</Head>
            <Head width="17%">{t('status')}</Head>
            <Head width="18%">{t('created')}</Head>
          </tr>
        </thead>
        <tbody>
          {accounts.map(account => (
            <Row key={account.id}>
              <Cell className="truncate font-medium" title={account.name}>
                {account.name}
              </Cell>
              <Cell className="truncate text-muted" title={account.ownerEmail ?? undefined}>
                {account.ownerEmail ?? t('nobody')}
              </Cell>
              <Cell>
                <AccountState status={account.status} />
              </Cell>
              <Cell className="text-muted text-small">
                <When at={account.createdAt} side="end" />
              </Cell>
            </Row>
          ))}
        </tbody>
      </Table>
      <ul className="md:hidden">
        {accounts.map(account => (
          <AccountCard key={account.id} account={account} />
        ))}
      </ul>
    </Sheet>
  )
}

function AccountCard({ account }: { account: AccountLine }) {
  const t = useTranslations('accounts')
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 border-line px-4 py-3 not-first:border-t">
      <span className="truncate font-medium">{account.name}</span>
      <AccountState status={account.status} />
      <span className="truncate text-muted text-small">{account.ownerEmail ?? t('nobody')}</span>
      <span className="text-right text-muted text-small">
        <When at={account.createdAt} side="end" />
      </span>
    </li>
  )
}

function AccountState({ status }: { status: AccountStatus }) {
  const t = useTranslations('accountStatus')
  return <Chip {...LOOKS[status]}>{t(status)}</Chip>
}
