'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import type { Form } from '#components/form/form.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import type { Mode } from '#lib/core/mode.ts'
import {
  inferPixKeyType,
  normalizePixKey,
  PIX_KEY_TYPES,
  type PixKeyType,
} from '#lib/core/pix/pix-key.ts'
import { readPixKey } from '#lib/withdrawals/schema.ts'

interface KeyFieldsProps {
  mode: Mode
  problems: Form['problems']
  isTypeMissing: boolean
}

/** Fields of the PIX key and its type. The type is inferred while typing and can be changed. */
export function KeyFields({ mode, problems, isTypeMissing }: KeyFieldsProps) {
  const t = useTranslations()
  const [key, setKey] = useState('')
  const [chosen, setChosen] = useState<PixKeyType | ''>('')
  const isAmbiguous = isAmbiguousKey(key)
  const parsed = isAmbiguous ? null : readPixKey(mode, { pix_key: key })
  const inferredType = parsed?.ok ? parsed.type : ''
  const type = chosen || inferredType
  const problem = isTypeMissing
    ? t('withdrawalRequest.typeMissing')
    : problems.pix_key_type
      ? t('withdrawalRequest.typeMissing')
      : null
  return (
    <div className="grid gap-5 sm:grid-cols-[minmax(0,1fr)_256px] sm:gap-4">
      <Field
        name="pix_key"
        label={t('withdrawals.key')}
        required
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={77}
        onInput={event => {
          setKey(event.currentTarget.value)
          if (event.currentTarget.value.trim() === '') setChosen('')
        }}
        hint={t(`withdrawalRequest.keyHint.${mode}`)}
        problem={useKeyProblem(mode, problems.pix_key, key, type)}
      />
      <Select
        name="pix_key_type"
        label={t('withdrawalRequest.type')}
        value={type}
        onChange={event => setChosen(event.currentTarget.value as PixKeyType | '')}
        hint={
          isAmbiguous && !chosen
            ? t('withdrawalRequest.ambiguous')
            : chosen
              ? t('withdrawalRequest.typeChosen')
              : inferredType
                ? t('withdrawalRequest.typeTold')
                : null
        }
        problem={problem}
      >
        <option value="">
          {isAmbiguous ? t('withdrawalRequest.typeChoose') : t('withdrawalRequest.typeAuto')}
        </option>
        {PIX_KEY_TYPES.map(value => (
          <option key={value} value={value}>
            {t(`pixKey.${value}`)}
          </option>
        ))}
      </Select>
    </div>
  )
}

function useKeyProblem(
  mode: Mode,
  problem: Form['problems'][string] | undefined,
  key: string,
  type: PixKeyType | '',
): string | null {
  const t = useTranslations()
  if (!problem) return null
  if (problem === 'required') return t('ui.required')
  if (!type) return t('withdrawalRequest.keyUnknown')
  const normalized = normalizePixKey(type, key, mode === 'live' ? 'dict' : 'form')
  if (normalized.ok || normalized.reason === 'form') return t(`withdrawalRequest.form.${type}`)
  return t(`withdrawalRequest.keyProblem.${normalized.reason}`)
}

/** Whether 11 digits are both a valid CPF and a mobile number: a wrong guess pays a stranger. */
export function isAmbiguousKey(key: string): boolean {
  const inferred = inferPixKeyType(key, 'dict')
  return !inferred.ok && inferred.reason === 'ambiguous'
}
