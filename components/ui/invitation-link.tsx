import { TriangleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { CopyButton } from '#components/ui/copy.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { INVITATION_DAYS } from '#lib/accounts/schema.ts'

interface InvitationLinkProps {
  /** Null if the link was already shown: it is not stored. */
  link: string | null
  email: string
  /** False without a mail server: only the link brings the invitation. */
  isMailed: boolean
  children: ReactNode
}

export function InvitationLink({ link, email, isMailed, children }: InvitationLinkProps) {
  const t = useTranslations('invitationLink')
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
      <p tabIndex={-1} ref={node => node?.focus()} className="break-words outline-none">
        {t(isMailed ? 'sending' : 'unsent', { email, days: INVITATION_DAYS })}
      </p>
      <Notice tone="wait" icon={TriangleAlert}>
        {link ? t(isMailed ? 'once' : 'onlyLink') : t('lost')}
      </Notice>
      {link ? (
        <code
          data-testid="invitation-link"
          className="block select-all break-all rounded-control bg-sunk px-3.5 py-3 font-mono text-[14px]"
        >
          {link}
        </code>
      ) : null}
      <div className="flex flex-wrap items-center justify-end gap-3">
        {children}
        {link ? <CopyButton text={link} variant="primary" /> : null}
      </div>
    </div>
  )
}
