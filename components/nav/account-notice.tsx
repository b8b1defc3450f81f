import { CircleAlert, Clock } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Notice } from '#components/ui/notice.tsx'
import type { SessionAccount } from '#lib/edge/session/schema.ts'

/** Why an account only shows, what still works in it, and whom to ask: at the top of its pages. */
export function AccountNotice({
  account: { status, statusReason: reason },
}: {
  account: Pick<SessionAccount, 'status' | 'statusReason'>
}) {
  const t = useTranslations('accountNotice')
  const isPending = status === 'pending'
  return (
    <div className="mb-6 max-md:mt-2 md:mb-8">
      <Notice tone={isPending ? 'wait' : 'bad'} icon={isPending ? Clock : CircleAlert}>
        <strong className="block font-semibold">
          {isPending ? t('pending') : t('suspended')}
          {!isPending && reason ? ` ${t('reason', { reason })}` : null}
        </strong>
        <span className="mt-0.5 block font-normal">
          {isPending ? t('pendingText') : t('suspendedText')}
        </span>
      </Notice>
    </div>
  )
}
