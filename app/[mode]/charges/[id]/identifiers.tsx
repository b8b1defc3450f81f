'use client'

import { useTranslations } from 'next-intl'
import { CopyValue } from '#app/[mode]/charges/[id]/copy-value.tsx'
import { useStory } from '#app/[mode]/charges/[id]/story.tsx'
import { Fact } from '#components/ui/facts.tsx'

/** By which it is found elsewhere; the payment's own id comes with the payment. */
export function Identifiers() {
  const t = useTranslations('charge')
  const { id, external_id, end_to_end_id } = useStory().story.charge
  const known = [
    [t('reference'), external_id],
    [t('id'), id],
    [t('endToEnd'), end_to_end_id],
  ] as const
  return known.map(([name, value]) =>
    value ? (
      <Fact key={name} name={name}>
        <CopyValue name={name} value={value} />
      </Fact>
    ) : null,
  )
}
