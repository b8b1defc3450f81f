'use client'

import { Check } from 'lucide-react'
import { storePreference } from '#components/format/preferences.ts'
import { Button } from '#components/ui/button.tsx'
import { ACCOUNT_COOKIE } from '#lib/session/schema.ts'

interface AccountSwitchProps {
  accounts: { id: string; name: string }[]
  chosenId: string
  label: string
}

export function AccountSwitch({ accounts, chosenId, label }: AccountSwitchProps) {
  return (
    <ul aria-label={label} className="mb-2 max-h-56 overflow-y-auto">
      {accounts.map(({ id, name }) => (
        <li key={id}>
          <Button
            variant="plain"
            aria-pressed={id === chosenId}
            className="w-full justify-between"
            onClick={() => {
              storePreference(ACCOUNT_COOKIE, id)
              // Full page load: the cached data of this page belongs to the previous account.
              location.assign('/')
            }}
          >
            <span className="truncate">{name}</span>
            {id === chosenId ? <Check size={16} aria-hidden /> : null}
          </Button>
        </li>
      ))}
    </ul>
  )
}
