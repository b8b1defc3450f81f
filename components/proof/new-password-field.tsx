'use client'

import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import type { FieldProblem } from '#components/form/form.tsx'
import { PasswordField } from '#components/ui/field.tsx'
import { isPasswordLength, PASSWORD_MIN, passwordLength } from '#lib/people/schema.ts'

interface NewPasswordFieldProps {
  label: string
  problem: FieldProblem | undefined
}

/** Input of a new password. Checks the length; the server refuses common passwords. */
export function NewPasswordField({ label, problem }: NewPasswordFieldProps) {
  const t = useTranslations('newPassword')
  const [value, setValue] = useState('')
  const [refusedValue, setRefusedValue] = useState<string | null>(null)
  const length = passwordLength(value)
  const missing = PASSWORD_MIN - length
  const hint =
    length === 0 ? t('hint') : missing > 0 ? t('missing', { missing }) : t('length', { length })
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs only when `problem` changes, to store the refused value
  useEffect(() => {
    if (problem === 'invalid' && isPasswordLength(value)) setRefusedValue(value)
  }, [problem])
  const isWrong = problem === 'invalid' && !isPasswordLength(value)
  const message = value === refusedValue ? t('guessable') : isWrong ? t('wrongLength') : null
  return (
    <PasswordField
      label={label}
      name="password"
      showLabel={t('show')}
      autoComplete="new-password"
      value={value}
      onChange={event => setValue(event.target.value)}
      hint={hint}
      problem={problem === 'required' && value === '' ? t('required') : message}
    />
  )
}
