import { useLocale, useTranslations } from 'next-intl'
import { useFactName, useKindName } from '#app/admin/reconciliation/names.ts'
import { ExactTime, Money } from '#components/format/format.tsx'
import { Fact } from '#components/ui/details.tsx'
import { dateFormat } from '#lib/core/locale.ts'
import type { DifferenceEvidence } from '#lib/operator/differences/schema.ts'

interface NotedFactProps {
  name: string
  value: DifferenceEvidence['bank'][string]
}

/** A fact that is stored with an item: the bank's, or of the books at the time. */
export function NotedFact({ name, value }: NotedFactProps) {
  const factName = useFactName()
  return (
    <Fact name={factName(name)}>
      <NotedValue name={name} value={value} />
    </Fact>
  )
}

const DAY = { dateStyle: 'medium', timeZone: 'UTC' } as const
const CENTS = /amount$|^(opening|closing|difference)$/
const CODES = ['what', 'kind', 'state', 'status', 'stored_status', 'ended_as', 'bank_reports']

/** Cents, times and codes are known by the names of the facts that hold them. */
function NotedValue({ name, value }: NotedFactProps) {
  const t = useTranslations('differences')
  const locale = useLocale()
  const kindName = useKindName()
  if (typeof value === 'number') return CENTS.test(name) ? <Money cents={value} /> : String(value)
  if (typeof value !== 'string') return <Code>{String(value ?? '—')}</Code>
  if (/^at$|_at$/.test(name) && !Number.isNaN(Date.parse(value)))
    return <ExactTime at={value} format="dated" />
  if (name === 'day') return dateFormat(locale, DAY).format(new Date(value))
  if (CODES.includes(name) && t.has(`code.${value}` as never)) return t(`code.${value}` as never)
  return name === 'reason' ? kindName(value) : <Code>{value}</Code>
}

function Code({ children }: { children: string }) {
  return <span className="break-all font-mono text-[13px]">{children}</span>
}
