'use client'

import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { AddressList, messageKeyOf } from '#app/[mode]/settings/tokens/token-fields.tsx'
import { useApi } from '#components/api/use-api.ts'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { IfAllowed, useHasPermission } from '#components/nav/permissions.tsx'
import { tokenQueries } from '#components/queries/people.ts'
import { TokenState } from '#components/status/state-chips.tsx'
import { Button } from '#components/ui/button.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { CopyValue } from '#components/ui/copy.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { EmptyState, ListSheet } from '#components/ui/sheet.tsx'
import {
  endOfParent,
  isActiveToken,
  PERMISSIONS,
  type TokenRow as Token,
} from '#lib/tokens/schema.ts'

const loadDialogs = () => import('#app/[mode]/settings/tokens/dialogs.tsx')
const AddressDialog = lazyDialog(loadDialogs, 'AddressDialog')
const AdoptDialog = lazyDialog(loadDialogs, 'AdoptDialog')
const RevokeDialog = lazyDialog(loadDialogs, 'RevokeDialog')
const RotateDialog = lazyDialog(loadDialogs, 'RotateDialog')

interface TokenListProps {
  /** Origin of the API, for the example command shown with a new token. */
  origin: string
}

export function TokenRows({ origin }: TokenListProps) {
  const t = useTranslations('tokens')
  const hasPermission = useHasPermission()
  const [canWrite, canAdopt] = [hasPermission('tokens:write'), hasPermission('tokens:adopt')]
  const api = useApi()
  const queryClient = useQueryClient()
  const [openDialog, setOpenDialog] = useState<{
    action: 'addresses' | 'adopt' | 'revoke' | 'rotate'
    token: Token
  } | null>(null)
  const query = tokenQueries.list(api)
  const { data } = useSuspenseQuery(query)
  const isEnded = ({ status }: Token) => status === 'expired' || status === 'revoked'
  const endedTokens = data.filter(isEnded)
  const activeTokens = data.filter(token => !isEnded(token))
  const canGrant = ({ permissions }: Token) => canWrite && permissions.every(hasPermission)
  // A token that another one created is rotated by that one.
  const canRotate = (token: Token) =>
    canGrant(token) && token.parent === null && (canAdopt || !token.exceeds_issuer)
  const close = () => setOpenDialog(null)
  const refresh = () => queryClient.invalidateQueries({ queryKey: query.queryKey })
  const rows = (tokens: Token[]) =>
    tokens.map(token => (
      <TokenRow
        key={token.id}
        token={token}
        onRevoke={canWrite ? () => setOpenDialog({ action: 'revoke', token }) : undefined}
        onRotate={canRotate(token) ? () => setOpenDialog({ action: 'rotate', token }) : undefined}
        onEditAddresses={
          canGrant(token) ? () => setOpenDialog({ action: 'addresses', token }) : undefined
        }
        onAdopt={
          canAdopt && token.exceeds_issuer && token.parent === null
            ? () => setOpenDialog({ action: 'adopt', token })
            : undefined
        }
      />
    ))
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-7">
      <ListSheet>
        {activeTokens.length > 0 ? (
          <ul aria-label={t('inForce')}>{rows(activeTokens)}</ul>
        ) : (
          <NoToken isFirst={endedTokens.length === 0} />
        )}
      </ListSheet>
      {endedTokens.length > 0 ? (
        <section>
          <h2 className="mb-2.5 text-title">{t('ended')}</h2>
          <ListSheet>
            <ul aria-label={t('ended')}>{rows(endedTokens)}</ul>
          </ListSheet>
        </section>
      ) : null}
      {openDialog?.action === 'addresses' ? (
        <AddressDialog token={openDialog.token} onClose={close} onDone={refresh} />
      ) : null}
      {openDialog?.action === 'adopt' ? (
        <AdoptDialog token={openDialog.token} onClose={close} onDone={refresh} />
      ) : null}
      {openDialog?.action === 'revoke' ? (
        <RevokeDialog token={openDialog.token} onClose={close} onDone={refresh} />
      ) : null}
      {openDialog?.action === 'rotate' ? (
        <RotateDialog token={openDialog.token} origin={origin} onClose={close} onDone={refresh} />
      ) : null}
    </div>
  )
}

function NoToken({ isFirst }: { isFirst: boolean }) {
  const t = useTranslations('tokens')
  const { mode } = useApi().scope
  return (
    <EmptyState
      icon={KeyRound}
      title={isFirst ? t('none') : t('noneInForce')}
      text={isFirst ? t('noneText') : t('noneInForceText')}
    >
      <IfAllowed permission="tokens:write">
        <Link
          href={`/${mode}/settings/tokens/new`}
          prefetch={false}
          className={buttonClass('quiet')}
        >
          <Plus size={16} aria-hidden />
          {t('create')}
        </Link>
      </IfAllowed>
    </EmptyState>
  )
}

interface TokenRowProps {
  token: Token
  /** Each is absent for members who may not do it, and where there is no need to. */
  onRevoke?: () => void
  onEditAddresses?: () => void
  onRotate?: () => void
  onAdopt?: () => void
}

function TokenRow({ token, onRevoke, onEditAddresses, onRotate, onAdopt }: TokenRowProps) {
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
        {isActiveToken(status) ? (
          <p className="flex items-center gap-2.5 text-muted text-small">
            {t('id')}
            <CopyValue name={t('id')} value={id} />
          </p>
        ) : null}
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

function TokenIssuer({ token }: { token: Token }) {
  const t = useTranslations('tokens')
  const { issuer, exceeds_issuer, parent } = token
  const link = isActiveToken(token.status)
    ? 'parent'
    : endOfParent(token)
      ? 'parentEnded'
      : 'parentOnly'
  const member = issuer === null ? t('issuedByOperator') : t('issuedBy', { name: issuer })
  return (
    <>
      <p className="mt-0.5 break-words text-muted text-small">
        {parent ? t(link, { name: parent.name }) : member}
      </p>
      {exceeds_issuer && !parent ? (
        <p data-testid="exceeds-issuer" className="mt-0.5 font-medium text-small text-wait">
          {t('exceeds')}
        </p>
      ) : null}
    </>
  )
}

function TokenRevocation({ token }: { token: Token }) {
  const t = useTranslations('tokens')
  const { revoked_by: by, revoker, revoked_reason: reason } = token
  const sentences = [
    by === 'operator' ? t('byOperator') : null,
    by === 'token' ? t('byParent') : null,
    revoker ? t('byMember', { name: revoker }) : null,
    reason ? t('reason', { reason }) : null,
  ].filter(text => text !== null)
  if (sentences.length === 0) return null
  return <p className="mt-0.5 break-words text-muted text-small">{sentences.join(' ')}</p>
}
