'use client'

import { useQuery } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import type { MemberRow, Role } from '#lib/accounts/schema.ts'
import { hasPermission } from '#lib/people/roles.ts'
import type { IssuedTokenRow } from '#lib/tokens/schema.ts'

export function useIssuedTokens({ user_id: id }: MemberRow) {
  const api = useApi()
  return useQuery({
    queryKey: ['member-tokens', api.scope, id],
    queryFn: async ({ signal }) =>
      (await api.get<{ data: IssuedTokenRow[] }>(`/dashboard/members/${id}/tokens`, signal)).data,
    // A stale list would be refused: read it whenever the dialog opens.
    gcTime: 0,
  })
}

/** Returns the tokens that a member with this role may no longer grant; null is a former member. */
export function listTokensAbove(role: Role | null, tokens: IssuedTokenRow[]): IssuedTokenRow[] {
  return tokens.filter(({ permissions }) =>
    permissions.some(name => role === null || !hasPermission(role, name)),
  )
}

/** Reads the decisions of a form; one that is missing is reported by the schema. */
export function readTokenDecisions(tokens: IssuedTokenRow[], data: FormData) {
  return tokens.map(({ id }) => ({ id, action: data.get(`tokens.${id}`) ?? undefined }))
}

interface TokenDecisionsProps {
  name: string
  tokens: IssuedTokenRow[]
  /** Members cannot adopt what their own new role may not grant. */
  canAdopt: boolean
  isWrong: boolean
  failure: unknown
}

export function TokenDecisions({ name, tokens, canAdopt, isWrong, failure }: TokenDecisionsProps) {
  const t = useTranslations('members')
  if (failure) return <Problem error={failure} />
  if (tokens.length === 0) return null
  return (
    <fieldset aria-describedby="issued-note">
      <legend className="mb-1.5 font-semibold text-small">{t('issued.title', { name })}</legend>
      <p
        id="issued-note"
        className={isWrong ? 'font-medium text-bad text-small' : 'text-muted text-small'}
      >
        {isWrong ? t('issued.missing') : canAdopt ? t('issued.text') : t('issued.ownText')}
      </p>
      <ul className="mt-3 max-h-72 overflow-y-auto rounded-control border border-line2">
        {tokens.map(token => (
          <TokenDecision key={token.id} token={token} canAdopt={canAdopt} />
        ))}
      </ul>
    </fieldset>
  )
}

function TokenDecision({ token, canAdopt }: { token: IssuedTokenRow; canAdopt: boolean }) {
  const t = useTranslations('members')
  const { id, name, mode, prefix, last_four } = token
  const actions = canAdopt ? (['adopt', 'revoke'] as const) : (['revoke'] as const)
  return (
    <li data-testid="issued-token" className="border-line px-3.5 py-2.5 not-first:border-t">
      <fieldset>
        <legend className="font-medium">
          {name}{' '}
          <span className="font-normal text-muted text-small">{t(`issued.mode.${mode}`)}</span>
        </legend>
        <p className="truncate font-mono text-[13px] text-muted">
          {prefix}…{last_four}
        </p>
        <div className="mt-1 flex flex-wrap gap-x-6">
          {actions.map(action => (
            <label key={action} className="flex min-h-10 items-center gap-2.5">
              <input
                type="radio"
                name={`tokens.${id}`}
                value={action}
                className="size-[18px] shrink-0 accent-accent"
              />
              {t(`issued.${action}`)}
            </label>
          ))}
        </div>
      </fieldset>
    </li>
  )
}
