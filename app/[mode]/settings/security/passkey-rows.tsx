import { useTranslations } from 'next-intl'
import { When } from '#components/format/when.tsx'
import { Button } from '#components/ui/button.tsx'
import type { ShownPasskey } from '#lib/services/people/schema.ts'

interface PasskeyRowsProps {
  passkeys: ShownPasskey[]
  onRemove: (passkey: ShownPasskey) => void
}

/** The passkeys by name, with their last use; nothing where there are none. */
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
                ? t.rich('passkey.used', { when: () => <When at={passkey.lastUsedAt ?? ''} /> })
                : t.rich('passkey.added', { when: () => <When at={passkey.createdAt} /> })}
            </p>
          </div>
          <Button
            look="plain"
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
