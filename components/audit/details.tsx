'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Changes } from '#components/audit/changes.tsx'
import { ActorName, useActionText } from '#components/audit/names.tsx'
import { ExactTime } from '#components/format/exact-time.tsx'
import { useApi } from '#components/nav/world.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Fact, Facts } from '#components/ui/facts.tsx'
import type { AuditLine } from '#lib/base/audit/schema.ts'
import { MODES, type Mode } from '#lib/base/mode.ts'

interface DetailsProps {
  line: AuditLine
  isStaff: boolean
  onClose: () => void
  /** Filters the list by one user, account or target. */
  onNarrow: (changes: Record<string, string>) => void
}

export function AuditDetails({ line, isStaff, onClose, onNarrow }: DetailsProps) {
  const t = useTranslations('audit')
  const { mode } = useApi().scope
  const { actor, account, target } = line
  const actionText = useActionText()
  const place = placeOf(line, mode, isStaff)
  return (
    <Dialog isOpen onClose={onClose} title={actionText(line.action)}>
      <Facts>
        <Fact name={t('when')}>
          <ExactTime at={line.created_at} look="millisecond" />
        </Fact>
        <Fact name={t('actor')}>
          <ActorName actor={actor} />
          {actor.email && actor.email !== actor.name ? (
            <span className="block text-muted text-small">{actor.email}</span>
          ) : null}
          {actor.id ? (
            <Narrow onPress={() => onNarrow({ actor: actor.id ?? '' })}>{t('onlyActor')}</Narrow>
          ) : null}
        </Fact>
        {isStaff && account ? (
          <Fact name={t('account')}>
            {account.name}
            <Narrow onPress={() => onNarrow({ account: account.id })}>{t('onlyAccount')}</Narrow>
          </Fact>
        ) : null}
        {line.reason ? <Fact name={t('reason')}>{line.reason}</Fact> : null}
        {line.before || line.after ? (
          <Fact name={t('change')}>
            <Changes before={line.before} after={line.after} />
          </Fact>
        ) : null}
        {target ? (
          <Fact name={t('target')}>
            <Code>{target}</Code>
            <span className="flex flex-wrap gap-x-4">
              {place ? (
                <Link
                  href={place}
                  prefetch={false}
                  className="font-semibold text-accent text-small hover:underline"
                >
                  {t('open')}
                </Link>
              ) : null}
              <Narrow onPress={() => onNarrow({ target })}>{t('onlyTarget')}</Narrow>
            </span>
          </Fact>
        ) : null}
        {line.ip ? (
          <Fact name={t('ip')}>
            <Code>{line.ip}</Code>
          </Fact>
        ) : null}
        {line.request_id ? (
          <Fact name={t('request')}>
            <Code>{line.request_id}</Code>
          </Fact>
        ) : null}
        <Fact name={t('code')}>
          <Code>{line.action}</Code>
        </Fact>
      </Facts>
    </Dialog>
  )
}

function Code({ children }: { children: string }) {
  return <code className="block break-all font-mono text-[13px] leading-6">{children}</code>
}

function Narrow({ onPress, children }: { onPress: () => void; children: ReactNode }) {
  return (
    <button
      type="button"
      onClick={onPress}
      className="block min-h-6 font-semibold text-accent text-small hover:underline"
    >
      {children}
    </button>
  )
}

/** Returns the page that shows the target of an action; null: it has none. */
function placeOf(line: AuditLine, shown: Mode, isStaff: boolean): string | null {
  const { action, account, target, before, after } = line
  const group = action.split('.')[0]
  if (isStaff) return account ? `/admin/accounts/${account.id}` : null
  const said = after?.mode ?? before?.mode
  const at = `/${MODES.find(mode => mode === said) ?? shown}`
  if (group === 'token') return `${at}/settings/tokens`
  if (group === 'member' || group === 'invitation') return `${at}/settings/members`
  if (group === 'webhook_secret') return `${at}/webhooks/endpoints`
  if (group === 'webhook_endpoint') {
    return action.endsWith('.deleted') ? null : `${at}/webhooks/endpoints/${target}`
  }
  if (group === 'webhook_delivery') return `${at}/webhooks`
  if (group === 'withdrawal') return `${at}/withdrawals/${target}`
  if (group === 'charge') return `${at}/charges/${target}`
  return null
}
