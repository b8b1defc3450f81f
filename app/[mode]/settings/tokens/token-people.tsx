import { useTranslations } from 'next-intl'
import type { TokenRow as Token } from '#lib/tokens/schema.ts'
import { endOfParent, isActiveToken } from '#lib/tokens/states.ts'

export function TokenIssuer({ token }: { token: Token }) {
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

export function TokenRevocation({ token }: { token: Token }) {
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
