import { CircleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Notice } from '#components/ui/notice.tsx'
import { ApiError } from '#lib/edge/client/api.ts'

const KNOWN_CODES = [
  'network',
  'too_many_requests',
  'service_unavailable',
  'permission_denied',
  'proof_required',
  'permission_not_held',
  'approval_by_other',
  'approval_ended',
  'approval_pending',
  'token_unconfirmed',
  'tokens_undecided',
  'account_not_active',
  'live_mode_disabled',
  'insufficient_balance',
  'external_id_used',
  'already_final',
  'not_paid',
  'refund_window_closed',
  'limit_reached',
  'in_progress',
  'invalid_input',
  'link_expired',
  'member_already',
  'last_owner',
  'invitation_ended',
  'other_person',
  'sign_up_closed',
  'not_found',
] as const

export function useProblemText(): (error: unknown) => string {
  const t = useTranslations('problem')
  return error => {
    const { code, requestId } = error instanceof ApiError ? error : { code: '', requestId: null }
    const known = KNOWN_CODES.find(
      name => name === code || (name === 'not_found' && code.endsWith(name)),
    )
    return known ? t(known) : t('other', { code: requestId ?? (code || '?') })
  }
}

export function Problem({ error }: { error: unknown }) {
  const text = useProblemText()
  if (!error) return null
  return (
    <Notice tone="bad" icon={CircleAlert} role="alert">
      {text(error)}
    </Notice>
  )
}
