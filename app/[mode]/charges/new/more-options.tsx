'use client'

import { ChevronDown } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import {
  EXPIRY_CHOICES,
  ROW_LISTS,
  toLargestUnit,
  UNIT_SECONDS,
  type Unit,
} from '#app/[mode]/charges/new/new-charge.ts'
import type { ProblemFor } from '#app/[mode]/charges/new/payer-fields.tsx'
import { useDraftedFields } from '#app/[mode]/charges/new/rows.tsx'
import { useApi } from '#components/form/api.ts'
import { Field, Select } from '#components/ui/field.tsx'

const OPTIONAL_FIELDS = ['external_id', 'expires_in', 'webhook_url', 'items', 'metadata']

interface MoreOptionsProps {
  expiresIn: number
  problemFor: ProblemFor
  isReferenceTaken: boolean
  problems: Record<string, unknown>
  children: ReactNode
}

export function MoreOptions({
  expiresIn,
  problemFor,
  isReferenceTaken,
  problems,
  children,
}: MoreOptionsProps) {
  const t = useTranslations()
  const { mode } = useApi().scope
  const details = useRef<HTMLDetailsElement>(null)
  const firstInvalid = isReferenceTaken
    ? 'external_id'
    : OPTIONAL_FIELDS.find(name => problems[name])
  useEffect(() => {
    if (!firstInvalid || !details.current) return
    const isHidden = !details.current.open
    details.current.open = true
    const input = details.current.querySelector<HTMLElement>(`[name="${firstInvalid}"]`)
    if (isHidden || isReferenceTaken) input?.focus()
  }, [firstInvalid, isReferenceTaken])
  // Otherwise the user would not see that the draft changes something in this section.
  useDraftedFields(fields => {
    const section = details.current
    if (!section) return
    const isChanged = fields.some(([name, value]) => {
      const input = section.querySelector<HTMLInputElement>(`[name="${name}"]`)
      return input ? input.value !== value : ROW_LISTS.some(list => name.startsWith(`${list}.`))
    })
    if (isChanged) section.open = true
  })
  return (
    <details ref={details} className="group rounded-control border border-line">
      <summary className="flex min-h-12 list-none items-center gap-3 rounded-control px-4 py-2.5 hover:bg-sunk [&::-webkit-details-marker]:hidden">
        <span className="min-w-0 flex-1">
          <span className="font-semibold">{t('newCharge.more')}</span>
          <span className="block text-muted text-small group-open:hidden">
            {t('newCharge.moreText')}
          </span>
        </span>
        <ChevronDown
          size={18}
          aria-hidden
          className="shrink-0 text-muted transition-transform duration-150 group-open:rotate-180 motion-reduce:transition-none"
        />
      </summary>
      <div className="grid gap-5 border-line border-t px-4 py-5">
        <div className="grid items-start gap-4 md:grid-cols-2">
          <Field
            label={t('newCharge.external_id')}
            name="external_id"
            note={t('ui.optional')}
            autoComplete="off"
            spellCheck={false}
            hint={t('newCharge.referenceHint')}
            problem={
              isReferenceTaken
                ? t('newCharge.referenceTaken')
                : problemFor('external_id', t('newCharge.referenceWrong'))
            }
          />
          <ExpiryField
            expiresIn={expiresIn}
            problem={problemFor('expires_in', t('newCharge.expiryWrong'))}
          />
        </div>
        <Field
          label={t('newCharge.webhook_url')}
          name="webhook_url"
          note={t('ui.optional')}
          type="url"
          autoComplete="off"
          hint={t('newCharge.webhookHint')}
          problem={problemFor('webhook_url', t(`newCharge.webhookWrong.${mode}`))}
        />
        {children}
      </div>
    </details>
  )
}

interface ExpiryFieldProps {
  expiresIn: number
  problem: string | null
}

function ExpiryField({ expiresIn, problem }: ExpiryFieldProps) {
  const t = useTranslations('newCharge')
  const [isCustom, setCustom] = useState(false)
  const choices = [...new Set([...EXPIRY_CHOICES, expiresIn])].sort((one, other) => one - other)
  const expiryText = (seconds: number) => {
    const { unit, count } = toLargestUnit(seconds)
    const text = t(`expiry.${unit}`, { count })
    return seconds === expiresIn ? t('expiry.default', { text }) : text
  }
  return (
    <div className="grid gap-3">
      <Select
        label={t('expires_in')}
        name="expires_in"
        defaultValue={expiresIn}
        onChange={event => setCustom(event.currentTarget.value === 'custom')}
        problem={isCustom ? null : problem}
      >
        {choices.map(seconds => (
          <option key={seconds} value={seconds}>
            {expiryText(seconds)}
          </option>
        ))}
        <option value="custom">{t('expiry.custom')}</option>
      </Select>
      {isCustom ? (
        <div className="grid grid-cols-2 gap-3">
          <Field
            label={t('expiryAmount')}
            name="expiry_count"
            inputMode="decimal"
            autoComplete="off"
            defaultValue="2"
            problem={problem}
          />
          <Select label={t('expiryUnit')} name="expiry_unit" defaultValue="hours">
            {(Object.keys(UNIT_SECONDS) as Unit[]).map(unit => (
              <option key={unit} value={unit}>
                {t(`unit.${unit}`)}
              </option>
            ))}
          </Select>
        </div>
      ) : null}
    </div>
  )
}
