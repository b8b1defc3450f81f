import Link from 'next/link'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { AddressList } from '#app/[mode]/settings/tokens/address-field.tsx'
import { messageKeyOf } from '#app/[mode]/settings/tokens/permissions.ts'
import { TokenIssuer, TokenRevocation } from '#app/[mode]/settings/tokens/token-people.tsx'
import { useApi } from '#components/form/api.ts'
import { RelativeTime } from '#components/format/format.tsx'
import { TokenState } from '#components/status/state-chips.tsx'
import { Button } from '#components/ui/button.tsx'
import { PERMISSIONS, type TokenRow as Token } from '#lib/tokens/schema.ts'
import { endOfParent, isActiveToken } from '#lib/tokens/states.ts'

interface TokenRowProps {
  token: Token
  /** Each is absent for members who may not do it, and where there is no need to. */
  onRevoke?: () => void
  onEditAddresses?: () => void
  onRotate?: () => void
  onAdopt?: () => void
}

export function TokenRow({ token, onRevoke, onEditAddresses, onRotate, onAdopt }: TokenRowProps) {
  const t = useTranslations('tokens')
  const { mode } = useApi().scope
  const { id, name, prefix, last_four, status } = token
  return (
    <li
      data-testid="token-row"
      className="grid grid-cols-[minmax(0,1fr)] gap-x-6 gap-y-3 border-line px-4 py-4 not-first:border-t @table:grid-cols-[minmax(0,1fr)_190px_178px] @wide:grid-cols-[minmax(0,1fr)_190px_270px] @table:items-start @table:px-[18px]"
    >
      <div className="min-w-0">
        <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <p id={`token-${id}`} className="min-w-0 break-words font-semibold">
            {name}
          </p>
          <TokenState status={status} />
        </div>
        <p className="mt-0.5 truncate font-mono text-[13px] text-muted">
          {prefix}…{last_four}
        </p>
        <Permissions permissions={token.permissions} />
        <AddressList addresses={token.allowed_addresses} />
        <TokenIssuer token={token} />
        <TokenRevocation token={token} />
        <Link
          href={`/${mode}/requests?token_id=${id}`}
          prefetch={false}
          aria-describedby={`token-${id}`}
          className="mt-0.5 inline-block text-accent text-small hover:underline"
        >
          {t('requests')}
        </Link>
        {token.replaced_by ? <p className="mt-0.5 text-muted text-small">{t('replaced')}</p> : null}
      </div>
      <Times token={token} />
      {!isActiveToken(status) || !onRevoke ? null : (
        <div className="flex flex-wrap gap-1 @max-table:-ml-2.5 @table:-mt-2 @table:justify-end">
          {onAdopt ? (
            <Button variant="plain" aria-describedby={`token-${id}`} onClick={onAdopt}>
              {t('adopt')}
            </Button>
          ) : null}
          {onEditAddresses ? (
            <Button variant="plain" aria-describedby={`token-${id}`} onClick={onEditAddresses}>
              {t('addresses.edit')}
            </Button>
          ) : null}
          {status === 'replaced' || !onRotate ? null : (
            <Button variant="plain" aria-describedby={`token-${id}`} onClick={onRotate}>
              {t('rotate')}
            </Button>
          )}
          <Button variant="plain" aria-describedby={`token-${id}`} onClick={onRevoke}>
            {t('revoke')}
          </Button>
        </div>
      )}
    </li>
  )
}

function Permissions({ permissions }: Pick<Token, 'permissions'>) {
  const t = useTranslations('tokens')
  const [count, total] = [permissions.length, PERMISSIONS.length]
  const names = permissions.map(name => t(`permission.${messageKeyOf(name)}`)).join(', ')
  return (
    <p className="mt-1.5 text-muted text-small">
      <span className="sr-only">{t('permissions')}: </span>
      {count === total ? t('all') : t('some', { count, total, names })}
    </p>
  )
}

function Times({ token }: { token: Token }) {
  const t = useTranslations('tokens')
  const { status, created_at, last_used_at, revoked_at } = token
  const endLabel = {
    active: t('expires'),
    expiring: t('expires'),
    replaced: t('ends'),
    expired: t('endedAt'),
    revoked: t('revokedAt'),
  }[status]
  const endAt = status === 'revoked' ? revoked_at : (endOfParent(token) ?? token.expires_at)
  return (
    <dl className="grid gap-y-0.5 text-small">
      <Time name={t('lastUsed')}>
        {last_used_at ? <RelativeTime at={last_used_at} /> : t('never')}
      </Time>
      <Time name={t('created')}>
        <RelativeTime at={created_at} />
      </Time>
      <Time name={endLabel} isWarning={status === 'expiring' || status === 'replaced'}>
        {endAt ? <RelativeTime at={endAt} /> : t('noExpiry')}
      </Time>
    </dl>
  )
}

interface TimeProps {
  name: string
  isWarning?: boolean
  children: ReactNode
}

function Time({ name, isWarning, children }: TimeProps) {
  return (
    <div className="flex gap-2">
      <dt className="w-[84px] shrink-0 text-muted">{name}</dt>
      <dd className={isWarning ? 'font-semibold text-wait' : ''}>{children}</dd>
    </div>
  )
}
