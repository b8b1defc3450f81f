'use client'

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import dynamic from 'next/dynamic'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { TokenRow } from '#app/[mode]/settings/tokens/token-row.tsx'
import { useApi } from '#components/form/api.ts'
import { IfAllowed, useHasPermission } from '#components/nav/permissions.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { ListSheet } from '#components/ui/sheet.tsx'
import type { TokenRow as Token } from '#lib/tokens/schema.ts'

const AddressDialog = dynamic(() =>
  import('#app/[mode]/settings/tokens/address-dialog.tsx').then(found => found.AddressDialog),
)
const AdoptDialog = dynamic(() =>
  import('#app/[mode]/settings/tokens/adopt-dialog.tsx').then(found => found.AdoptDialog),
)
const RevokeDialog = dynamic(() =>
  import('#app/[mode]/settings/tokens/revoke-dialog.tsx').then(module => module.RevokeDialog),
)
const RotateDialog = dynamic(() =>
  import('#app/[mode]/settings/tokens/rotate-dialog.tsx').then(module => module.RotateDialog),
)

interface TokenListProps {
  tokens: Token[]
  /** Origin of the API, for the example command shown with a new token. */
  origin: string
}

export function TokenList({ tokens: initialData, origin }: TokenListProps) {
  const t = useTranslations('tokens')
  const hasPermission = useHasPermission()
  const [canWrite, canAdopt] = [hasPermission('tokens:write'), hasPermission('tokens:adopt')]
  const api = useApi()
  const queryClient = useQueryClient()
  const [openDialog, setOpenDialog] = useState<{
    action: 'addresses' | 'adopt' | 'revoke' | 'rotate'
    token: Token
  } | null>(null)
  const queryKey = ['tokens', api.scope]
  const { data } = useQuery({
    queryKey,
    initialData,
    queryFn: async ({ signal }) => (await api.get<{ data: Token[] }>('/tokens', signal)).data,
  })
  const isEnded = ({ status }: Token) => status === 'expired' || status === 'revoked'
  const endedTokens = data.filter(isEnded)
  const activeTokens = data.filter(token => !isEnded(token))
  const canGrant = ({ permissions }: Token) => canWrite && permissions.every(hasPermission)
  // A token that another one created is rotated by that one.
  const canRotate = (token: Token) =>
    canGrant(token) && token.parent === null && (canAdopt || !token.exceeds_issuer)
  const close = () => setOpenDialog(null)
  const refresh = () => queryClient.invalidateQueries({ queryKey })
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
