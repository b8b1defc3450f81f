'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/api/use-api.ts'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { TokenState } from '#components/status/state-chips.tsx'
import { Button } from '#components/ui/button.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import type { TokenLine } from '#lib/operator/schema.ts'
import { isActiveToken } from '#lib/tokens/schema.ts'

const ReasonDialog = lazyDialog(() => import('#app/admin/reason-dialog.tsx'), 'ReasonDialog')

interface TokenLinesProps {
  tokens: TokenLine[]
  /** Whether the list spans several accounts: each token then shows its account. */
  isMultiAccount?: boolean
}

export function TokenLines({ tokens, isMultiAccount }: TokenLinesProps) {
  const t = useTranslations('adminTokens')
  const api = useApi()
  const [tokenToRevoke, setTokenToRevoke] = useState<TokenLine | null>(null)
  return (
    <>
      <ul aria-label={t('title')}>
        {tokens.map(token => (
          <TokenItem
            key={token.id}
            token={token}
            isMultiAccount={isMultiAccount}
            onRevoke={() => setTokenToRevoke(token)}
          />
        ))}
      </ul>
      {tokenToRevoke ? (
        <ReasonDialog
          title={t('revokeTitle', {
            name: tokenToRevoke.name,
            account: tokenToRevoke.account_name,
          })}
          description={t('revokeText')}
          action={t('revoke')}
          send={body =>
            api.post('/admin/accounts/[id]/tokens/[token_id]/revoke', {
              params: { id: tokenToRevoke.account_id, token_id: tokenToRevoke.id },
              body,
            })
          }
          isDestructive
          onClose={() => setTokenToRevoke(null)}
        />
      ) : null}
    </>
  )
}

interface TokenItemProps {
  token: TokenLine
  isMultiAccount?: boolean
  onRevoke: () => void
}

function TokenItem({ token, isMultiAccount, onRevoke }: TokenItemProps) {
  const t = useTranslations('adminTokens')
  const { id, name, mode, prefix, last_four, status, revoked_reason: reason } = token
  return (
    <li
      data-testid="token-row"
      className="flex flex-wrap items-start gap-x-6 gap-y-1.5 border-line px-4 py-3.5 not-first:border-t md:px-[18px]"
    >
      <div className="min-w-0 flex-1 basis-48">
        <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <p id={`token-${id}`} className="min-w-0 break-words font-semibold">
            {name}
          </p>
          <TokenState status={status} />
        </div>
        {isMultiAccount ? (
          <Link
            href={`/admin/accounts/${token.account_id}`}
            prefetch={false}
            className="block w-fit max-w-full truncate text-accent text-small hover:underline"
          >
            {token.account_name}
          </Link>
        ) : null}
        <p className="truncate font-mono text-[13px] text-muted">
          {prefix}…{last_four}
        </p>
        {status === 'revoked' ? (
          <p className="break-words text-muted text-small">
            {token.revoked_by === 'operator' ? t('byOperator') : null}
            {token.revoker ? t('byMember', { name: token.revoker }) : null}
            {reason ? ` ${t('reason', { reason })}` : null}
          </p>
        ) : null}
      </div>
      <p className="w-40 text-muted text-small">
        {t(`mode.${mode}`)}
        <br />
        {token.last_used_at ? (
          <>
            {t('used')} <RelativeTime at={token.last_used_at} />
          </>
        ) : (
          t('neverUsed')
        )}
      </p>
      <div className="-my-1.5 -mr-2.5 ml-auto flex w-20 justify-end md:mr-0">
        {isActiveToken(status) ? (
          <Button variant="plain" aria-describedby={`token-${id}`} onClick={onRevoke}>
            {t('revoke')}
          </Button>
        ) : null}
      </div>
    </li>
  )
}
