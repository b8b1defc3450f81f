import { useTranslations } from 'next-intl'
import { Money } from '#components/format/format.tsx'
import { Fact, Facts } from '#components/ui/facts.tsx'
import { type AccountLimits, LIMIT_NAMES } from '#lib/rooms/accounts/schema.ts'

/** What the operator lets the account move in live mode. */
export function Limits({ limits }: { limits: AccountLimits }) {
  const t = useTranslations('settings')
  return (
    <Facts>
      {LIMIT_NAMES.map(name => (
        <Fact key={name} name={t(`limits.${name}`)}>
          {limits[name] === null ? t('limits.none') : <Money cents={limits[name]} />}
        </Fact>
      ))}
    </Facts>
  )
}
