'use client'

import { TriangleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Button } from '#components/ui/button.tsx'
import { CopyButton } from '#components/ui/copy.tsx'
import { Dialog, SecretDialog } from '#components/ui/dialog.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import type { Permission, TokenRow } from '#lib/tokens/schema.ts'

export type IssuedTokenRow = TokenRow & { token: string | null }

interface IssuedTokenProps {
  issued: IssuedTokenRow
  /** Origin of the API, for the example command. */
  origin: string
  onClose: () => void
}

/** Shows a new token in full. The server never returns it again. */
export function IssuedTokenDialog({ issued, origin, onClose }: IssuedTokenProps) {
  const t = useTranslations('tokens')
  const { token } = issued
  const title = t('shown.title')
  if (token === null) {
    return (
      <Dialog isOpen onClose={onClose} title={title}>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
          <Notice tone="wait" icon={TriangleAlert} role="alert">
            {t('shown.lost')}
          </Notice>
          <div className="flex justify-end">
            <Button variant="quiet" onClick={onClose}>
              {t('shown.back')}
            </Button>
          </div>
        </div>
      </Dialog>
    )
  }
  const command = exampleCommand(token, issued.permissions, origin)
  return (
    <SecretDialog title={title} savedLabel={t('shown.done')} onSaved={onClose}>
      <Notice tone="wait" icon={TriangleAlert}>
        {t('shown.warning')}
      </Notice>
      <div>
        <p className="mb-1.5 font-semibold text-small">{t('shown.value')}</p>
        <code
          data-testid="token-value"
          className="block select-all break-all rounded-control bg-sunk px-3.5 py-3 font-mono text-[14px]"
        >
          {token}
        </code>
        <div className="mt-3 flex">
          <CopyButton text={token} />
        </div>
      </div>
      {command ? (
        <div className="border-line border-t pt-5">
          <div className="mb-1.5 flex items-center justify-between gap-3">
            <p className="font-semibold text-small">{t('shown.curl')}</p>
            <CopyButton text={command} label="curl" variant="plain" />
          </div>
          <pre className="whitespace-pre-wrap break-all rounded-control bg-sunk px-3.5 py-3 font-mono text-[13px]">
            {command}
          </pre>
        </div>
      ) : null}
    </SecretDialog>
  )
}

const READ_PATHS: [Permission, string][] = [
  ['account:read', '/account'],
  ['transactions:read', '/transactions'],
  ['withdrawals:read', '/withdrawals'],
  ['events:read', '/events'],
  ['statement:read', '/statement'],
]
const CHARGE_BODY =
  '{"amount":1500,"client_name":"Ana Rocha","client_email":"ana@example.com","client_doc":"529.982.247-25"}'

function exampleCommand(token: string, permissions: Permission[], origin: string): string | null {
  const header = `-H "Authorization: Bearer ${token}"`
  const allowedRead = READ_PATHS.find(([name]) => permissions.includes(name))
  if (allowedRead) return `curl ${origin}/api${allowedRead[1]} \\\n  ${header}`
  if (!permissions.includes('transactions:write')) return null
  return `curl ${origin}/api/transactions \\\n  ${header} \\\n  -H "Content-Type: application/json" \\\n  -d '${CHARGE_BODY}'`
}
