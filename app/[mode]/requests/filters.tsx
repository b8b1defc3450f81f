'use client'

import { useTranslations } from 'next-intl'
import { ChoiceFilter } from '#components/filters/filter-chip.tsx'
import { PeriodFilter } from '#components/filters/period-filter.tsx'
import type { useFilters } from '#components/filters/use-filters.ts'

const STATUSES = ['failed', '2xx', '4xx', '5xx'] as const
const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'].map(asChoice)

/** Values that the requests of the account have. */
export interface RequestKinds {
  tokens: { id: string; name: string }[]
  paths: string[]
  codes: string[]
}

type RequestFiltersProps = Pick<ReturnType<typeof useFilters>, 'get' | 'set'> & {
  kinds: RequestKinds
}

export function RequestFilters({ get, set, kinds }: RequestFiltersProps) {
  const t = useTranslations('requests')
  const choices = {
    status: STATUSES.map(value => ({ value, label: t(`class.${value}`) })),
    method: METHODS,
    path: kinds.paths.map(asChoice),
    code: kinds.codes.map(asChoice),
    token_id: kinds.tokens.map(({ id, name }) => ({ value: id, label: name })),
  }
  const names = Object.keys(choices) as (keyof typeof choices)[]
  return (
    <div className="mb-4 flex items-center gap-2 max-md:overflow-x-auto max-md:py-1 max-md:[scrollbar-width:none] md:flex-wrap">
      {names.map(name => (
        <ChoiceFilter
          key={name}
          label={t(name)}
          anyLabel={t('any')}
          value={get(name)}
          choices={withValue(choices[name], get(name))}
          onChoose={value => set({ [name]: value })}
        />
      ))}
      <PeriodFilter get={get} set={set} />
    </div>
  )
}

interface Choice {
  value: string
  label: string
}

function asChoice(value: string): Choice {
  return { value, label: value }
}

/** Adds a value that a link chose, such as one status. */
function withValue(choices: Choice[], value: string): Choice[] {
  const isListed = value === '' || choices.some(choice => choice.value === value)
  return isListed ? choices : [...choices, asChoice(value)]
}
