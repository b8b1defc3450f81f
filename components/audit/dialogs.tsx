'use client'

import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import type { ReactNode, SubmitEvent } from 'react'
import { useApi } from '#components/api/use-api.ts'
import {
  ActorName,
  EXACT_FILTERS,
  type ExactFilter,
  useActionText,
} from '#components/audit/rows.tsx'
import { ExactTime, moneyText } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import type { AuditLine, AuditValues } from '#lib/audit/schema.ts'
import { BANK_NAMES } from '#lib/banks/states.ts'
import { MODES, type Mode } from '#lib/core/mode.ts'

interface ExactDialogProps {
  names: ExactFilter[]
  get: (name: ExactFilter) => string
  onApply: (changes: Record<string, string | null>) => void
  onClose: () => void
}

/** Filters by ids, which are seldom typed. */
export function ExactDialog({ names, get, onApply, onClose }: ExactDialogProps) {
  const t = useTranslations('audit')
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    onApply(Object.fromEntries(names.map(name => [name, String(data.get(name)).trim() || null])))
  }
  return (
    <Dialog onClose={onClose} title={t('more')}>
      <form method="post" onSubmit={submit} className="grid gap-5">
        {names.map(name => (
          <Field
            key={name}
            label={t(EXACT_FILTERS[name])}
            name={name}
            maxLength={255}
            defaultValue={get(name)}
          />
        ))}
        <Button variant="primary" type="submit">
          {t('apply')}
        </Button>
      </form>
    </Dialog>
  )
}

interface DetailsProps {
  line: AuditLine
  isStaff: boolean
  onClose: () => void
  onFilter: (changes: Record<string, string>) => void
}

export function AuditDetails({ line, isStaff, onClose, onFilter }: DetailsProps) {
  const t = useTranslations('audit')
  const { mode } = useApi().scope
  const { actor, account, target } = line
  const actionText = useActionText()
  const targetPath = targetPathOf(line, mode, isStaff)
  return (
    <Dialog onClose={onClose} title={actionText(line.action)}>
      <Facts>
        <Fact name={t('when')}>
          <ExactTime at={line.created_at} format="millisecond" />
        </Fact>
        <Fact name={t('actor')}>
          <ActorName actor={actor} />
          {actor.email && actor.email !== actor.name ? (
            <span className="block text-muted text-small">{actor.email}</span>
          ) : null}
          {actor.id ? (
            <FilterButton onPress={() => onFilter({ actor: actor.id ?? '' })}>
              {t('onlyActor')}
            </FilterButton>
          ) : null}
        </Fact>
        {isStaff && account ? (
          <Fact name={t('account')}>
            {account.name}
            <FilterButton onPress={() => onFilter({ account: account.id })}>
              {t('onlyAccount')}
            </FilterButton>
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
            <span className="flex flex-wrap items-baseline gap-x-4">
              {targetPath ? (
                <Link
                  href={targetPath}
                  prefetch={false}
                  className="font-semibold text-accent text-small hover:underline"
                >
                  {t('open')}
                </Link>
              ) : null}
              <FilterButton onPress={() => onFilter({ target })}>{t('onlyTarget')}</FilterButton>
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
            {isStaff ? (
              <Link
                href={`/admin/trace?id=${encodeURIComponent(line.request_id)}`}
                prefetch={false}
                className="font-semibold text-accent text-small hover:underline"
              >
                {t('open')}
              </Link>
            ) : null}
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

function FilterButton({ onPress, children }: { onPress: () => void; children: ReactNode }) {
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

function targetPathOf(line: AuditLine, currentMode: Mode, isStaff: boolean): string | null {
  const { action, account, target, before, after } = line
  const group = action.split('.')[0]
  if (isStaff) return account ? `/admin/accounts/${account.id}` : null
  const recordedMode = after?.mode ?? before?.mode
  const basePath = `/${MODES.find(mode => mode === recordedMode) ?? currentMode}`
  if (group === 'token') return `${basePath}/settings/tokens`
  if (group === 'member' || group === 'invitation') return `${basePath}/settings/members`
  if (group === 'webhook_secret') return `${basePath}/webhooks/endpoints`
  if (group === 'webhook_endpoint') {
    return action.endsWith('.deleted') ? null : `${basePath}/webhooks/endpoints/${target}`
  }
  if (group === 'webhook_delivery') return `${basePath}/webhooks`
  if (group === 'withdrawal') return `${basePath}/withdrawals/${target}`
  if (group === 'charge') return `${basePath}/charges/${target}`
  return null
}

/** Names of the audited values that hold cents. */
const MONEY_FIELDS = [
  'amount',
  'charge_max',
  'withdrawal_max',
  'night_max',
  'day_max',
  'approval_above',
  'charge_review_above',
  'approval_day_above',
  'payout_max',
  'payout_day_max',
]

function Changes({ before, after }: Pick<AuditLine, 'before' | 'after'>) {
  const t = useTranslations('audit')
  const label = useFieldLabel()
  const text = useValueText()
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const changed = names.filter(
    name => !before || !after || JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  return (
    <ul className="grid gap-1.5">
      {changed.map(name => {
        const [old, now] = [before?.[name], after?.[name]].map(value =>
          value === undefined ? null : text(name, value),
        )
        return (
          <li key={name} className="wrap-anywhere">
            <span className="text-muted">{label(name)}: </span>
            {old && now ? t('changed', { before: old, after: now }) : (now ?? old)}
          </li>
        )
      })}
    </ul>
  )
}

function useFieldLabel(): (name: string) => string {
  const t = useTranslations('auditField')
  return name => {
    const key = name as 'name'
    return t.has(key) ? t(key) : name
  }
}

function useValueText(): (name: string, value: AuditValues[string]) => string {
  const t = useTranslations('audit')
  const enumText = useEnumText()
  const locale = useLocale()
  return (name, value) => {
    if (value === null) return t('empty')
    if (typeof value === 'boolean') return value ? t('yes') : t('no')
    if (Array.isArray(value)) return value.length > 0 ? value.join(', ') : t('empty')
    if (typeof value === 'number') {
      return MONEY_FIELDS.includes(name) ? moneyText(value, locale) : String(value)
    }
    return name === 'name' ? value : enumText(value)
  }
}

function useEnumText(): (value: string) => string {
  const t = useTranslations('auditValue')
  return value => {
    const bank = Object.entries(BANK_NAMES).find(([kind]) => kind === value)
    if (bank) return bank[1]
    const key = value as 'owner'
    return /^\w+$/.test(value) && t.has(key) ? t(key) : value
  }
}
