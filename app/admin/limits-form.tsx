'use client'

import { useLocale } from 'next-intl'
import { useState } from 'react'
import type { ZodType } from 'zod'
import { editFormProps, SaveButton, useForm } from '#components/form/form.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
import { formatReais, parseReais } from '#lib/core/money.ts'

type Limits<Name extends string> = Record<Name, number | null>

interface LimitsFormProps<Name extends string> {
  /** Sets all limits. */
  store: (limits: Limits<Name>) => Promise<{ data: Limits<Name> }>
  schema: ZodType<Limits<Name>>
  names: readonly Name[]
  limits: Limits<Name>
  textsOf: (name: Name) => { label: string; hint?: string }
  none: string
  invalid: string
}

/** Limits in live mode; an empty field means no limit. */
export function LimitsForm<Name extends string>(props: LimitsFormProps<Name>) {
  const { store, schema, names, limits, textsOf, none, invalid } = props
  const locale = useLocale()
  const [stored, setStored] = useState(limits)
  const [isUnchanged, setUnchanged] = useState(true)
  const [isSaved, setSaved] = useState(false)
  const form = useForm({
    schema,
    read: data => readLimits(data, names, locale),
    send: async body => {
      setStored((await store(body)).data)
      setUnchanged(true)
      setSaved(true)
    },
  })
  return (
    <form
      {...editFormProps(form, isUnchanged, data => {
        const current = readLimits(data, names, locale)
        setSaved(false)
        setUnchanged(names.every(name => current[name] === stored[name]))
      })}
      className="grid gap-5"
    >
      {names.map(name => (
        <MoneyField
          key={name}
          {...textsOf(name)}
          name={name}
          defaultValue={stored[name] === null ? '' : formatReais(stored[name], locale)}
          placeholder={none}
          problem={form.problems[name] ? invalid : null}
        />
      ))}
      <SaveButton
        isBusy={form.isBusy}
        isSaved={isSaved}
        failure={form.failure}
        isUnchanged={isUnchanged}
      />
    </form>
  )
}

/** Reads the limits; an invalid amount becomes NaN, which the schema refuses. */
function readLimits<Name extends string>(
  data: FormData,
  names: readonly Name[],
  locale: string,
): Limits<Name> {
  const readLimit = (name: string) => {
    const text = String(data.get(name) ?? '').trim()
    return text === '' ? null : (parseReais(text, locale) ?? Number.NaN)
  }
  return Object.fromEntries(names.map(name => [name, readLimit(name)])) as Limits<Name>
}
