import type { LucideIcon } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Button } from '#components/ui/button.tsx'
import type { ShownPasskey } from '#lib/people/schema.ts'

interface PasskeyRowsProps {
  passkeys: ShownPasskey[]
  onRemove: (passkey: ShownPasskey) => void
}

export function PasskeyRows({ passkeys, onRemove }: PasskeyRowsProps) {
  const t = useTranslations('factor')
  if (passkeys.length === 0) return null
  return (
    <ul
      aria-label={t('passkey.title')}
      className="mt-4 rounded-control border border-line2 sm:ml-[38px]"
    >
      {passkeys.map(passkey => (
        <li
          key={passkey.id}
          className="flex items-center gap-3 border-line py-2 pr-2 pl-3.5 not-first:border-t"
        >
          <div className="min-w-0 flex-1">
            <p className="break-words font-medium">{passkey.name}</p>
            <p className="text-muted text-small">
              {passkey.lastUsedAt
                ? t.rich('passkey.used', {
                    when: () => <RelativeTime at={passkey.lastUsedAt ?? ''} />,
                  })
                : t.rich('passkey.added', { when: () => <RelativeTime at={passkey.createdAt} /> })}
            </p>
          </div>
          <Button
            variant="plain"
            aria-label={t('passkey.removeNamed', { name: passkey.name })}
            onClick={() => onRemove(passkey)}
          >
            {t('passkey.remove')}
          </Button>
        </li>
      ))}
    </ul>
  )
}

interface FactorRowProps {
  icon: LucideIcon
  title: string
  text: string
  state?: ReactNode
  children: ReactNode
  below?: ReactNode
}

export function FactorRow({ icon: Icon, title, text, state, children, below }: FactorRowProps) {
  return (
    <div className="border-line py-5 not-first:border-t">
      <div className="flex flex-wrap items-start gap-x-5 gap-y-3">
        <Icon size={18} aria-hidden className="mt-0.5 shrink-0 text-muted max-sm:hidden" />
        <div className="min-w-0 flex-1 max-sm:basis-full">
          <h3 className="flex flex-wrap items-center gap-x-2.5 gap-y-1 font-semibold">
            {title}
            {state}
          </h3>
          <p className="mt-1 max-w-[60ch] text-muted text-small">{text}</p>
        </div>
        {children}
      </div>
      {below}
    </div>
  )
}
