'use client'

import { useTranslations } from 'next-intl'
import { type SubmitEvent, useRef, useState } from 'react'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { TextArea } from '#components/ui/field.tsx'
import type { BankProblem } from '#lib/dashboard/schema.ts'

/** Maximum input, as in the API: a PIX code has at most 512 characters. */
const CODE_MAX = 600

interface CodeFormProps {
  code: string
  problem: BankProblem | null
  /** Returns the reason why the code cannot be paid; null if it can be paid. */
  readCode: (code: string) => Promise<BankProblem | null>
}

export function CodeForm({ code, problem: initialProblem, readCode }: CodeFormProps) {
  const t = useTranslations('bank')
  const ui = useTranslations('ui')
  const form = useRef<HTMLFormElement>(null)
  const [problem, setProblem] = useState<BankProblem | 'empty' | null>(initialProblem)
  const [failure, setFailure] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('code')).trim()
    if (isBusy) return
    setFailure(null)
    setBusy(true)
    const newProblem = await validate(text).catch(error => {
      setFailure(error)
      return null
    })
    setBusy(false)
    setProblem(newProblem)
    if (newProblem) form.current?.querySelector('textarea')?.focus()
  }

  async function validate(text: string) {
    if (text === '') return 'empty'
    return text.length > CODE_MAX ? 'no_code' : readCode(text)
  }

  const message = problem === 'empty' ? ui('required') : problem && t(`problem.${problem}`)
  return (
    <form ref={form} method="post" onSubmit={submit} noValidate>
      <TextArea
        label={t('code')}
        name="code"
        defaultValue={code}
        hint={t('codeHint')}
        problem={message}
        rows={5}
        autoComplete="off"
        spellCheck={false}
        className="break-all font-mono text-[13px]"
      />
      <p role="status" className="sr-only">
        {message ?? ''}
      </p>
      <div className="mt-4 grid gap-4">
        <Problem error={failure} />
        <Button type="submit" variant="primary" className="w-full" aria-disabled={isBusy}>
          {isBusy ? t('reading') : t('read')}
        </Button>
      </div>
    </form>
  )
}
