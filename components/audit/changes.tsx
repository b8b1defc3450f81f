import { useLocale, useTranslations } from 'next-intl'
import { moneyText } from '#components/format/format.tsx'
import type { AuditLine, AuditValues } from '#lib/audit/schema.ts'
import { BANK_NAMES } from '#lib/banks/states.ts'

/** Names of the audited values that hold cents. */
const MONEY_FIELDS = [
  ...['amount', 'charge_max', 'withdrawal_max', 'night_max', 'day_max', 'approval_above'],
  ...['charge_review_above', 'approval_day_above'],
  ...['payout_max', 'payout_day_max'],
]

export function Changes({ before, after }: Pick<AuditLine, 'before' | 'after'>) {
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
