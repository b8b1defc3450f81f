import { useLocale, useTranslations } from 'next-intl'
import { Description } from '#app/[mode]/charges/[id]/description.tsx'
import { Identifiers, PaidBy, PayerDocument } from '#app/[mode]/charges/[id]/live-facts.tsx'
import { moneyText } from '#components/format/format.tsx'
import { CopyValue } from '#components/ui/copy.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { ChargeTimelineData } from '#lib/dashboard/schema.ts'

export function ChargeDetails({ charge }: Pick<ChargeTimelineData, 'charge'>) {
  const t = useTranslations('charge')
  const { client_name, client_email, client_phone, webhook_url, items, utms, metadata } = charge
  return (
    <Sheet className="px-5 py-5 md:px-6 md:py-6">
      <h2 className="mb-4 text-title">{t('details')}</h2>
      <Facts>
        <Fact name={t('payer')}>{client_name}</Fact>
        <Fact name={t('document')}>
          <PayerDocument />
        </Fact>
        <Fact name={t('email')}>{client_email}</Fact>
        <PaidBy />
        <Description />
        {client_phone ? <Fact name={t('phone')}>{client_phone}</Fact> : null}
        {items && items.length > 0 ? (
          <Fact name={t('items')}>
            <Items items={items} />
          </Fact>
        ) : null}
        <KeyValues name={t('campaign')} values={utms} />
        <KeyValues name={t('metadata')} values={metadata} />
        {webhook_url ? (
          <Fact name={t('webhook')}>
            <CopyValue name={t('webhook')} value={webhook_url} />
          </Fact>
        ) : null}
        <Identifiers />
      </Facts>
    </Sheet>
  )
}

function Items({ items }: { items: Record<string, unknown>[] }) {
  const t = useTranslations('charge')
  const locale = useLocale()
  return (
    <ul>
      {items.map(({ name, quantity, price }, index) => {
        const itemName = typeof name === 'string' && name.trim() ? name : t('itemUnnamed')
        const line = quantity
          ? t('itemLine', { quantity: String(quantity), name: itemName })
          : itemName
        const cents = Math.round(Number(String(price ?? '').replace(',', '.')))
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: items have no id and never change
          <li key={index}>
            {line}
            {price && Number.isFinite(cents) ? (
              <span className="text-muted"> · {moneyText(cents, locale)}</span>
            ) : null}
          </li>
        )
      })}
    </ul>
  )
}

interface KeyValuesProps {
  name: string
  values: Record<string, unknown> | null
}

function KeyValues({ name, values }: KeyValuesProps) {
  const entries = Object.entries(values ?? {})
  if (entries.length === 0) return null
  return (
    <Fact name={name}>
      <ul className="grid gap-0.5 font-mono text-[13px] leading-[1.7]">
        {entries.map(([key, value]) => (
          <li key={key} className="break-all">
            <span className="text-muted">{key}=</span>
            {typeof value === 'string' ? value : JSON.stringify(value)}
          </li>
        ))}
      </ul>
    </Fact>
  )
}
