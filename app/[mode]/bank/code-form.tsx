'use client'

import { useTranslations } from 'next-intl'
import { type SubmitEvent, useRef, useState } from 'react'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { TextArea } from '#components/ui/field.tsx'
import type { BankProblem } from '#lib/views/dashboard/schema.ts'

/** Maximum length of a code in the address; no valid code is longer. */
const CODE_MAX = 600

interface CodeFormProps {
  code: string
  problem: BankProblem | null
  /** Returns why the code cannot be paid; null when it can. */
  read: (code: string) => Promise<BankProblem | null>
}

export function CodeForm({ code, problem: first, read }: CodeFormProps) {
  const t = useTranslations('bank')
  const ui = useTranslations('ui')
  const field = useRef<HTMLFormElement>(null)
  const [problem, setProblem] = useState<BankProblem | 'empty' | null>(first)
  const [failure, setFailure] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('code')).trim()
    if (isBusy) return
    setFailure(null)
    setBusy(true)
    const found = await judge(text).catch(error => {
      setFailure(error)
      return null
    })
    setBusy(false)
    setProblem(found)
    if (found) field.current?.querySelector('textarea')?.focus()
  }

  async function judge(text: string) {
    if (text === '') return 'empty'
    return text.length > CODE_MAX ? 'no_code' : read(text)
  }

  const said = problem === 'empty' ? ui('required') : problem && t(`problem.${problem}`)
  return (
    <form ref={field} onSubmit={submit} noValidate>
      <TextArea
        label={t('code')}
        name="code"
        defaultValue={code}
        hint={t('codeHint')}
        problem={said}
        rows={5}
        autoComplete="off"
        spellCheck={false}
        className="break-all font-mono text-[13px]"
      />
      <p role="status" className="sr-only">
        {said ?? ''}
      </p>
      <div className="mt-4 grid gap-4">
        <Problem error={failure} />
        <Button type="submit" look="primary" className="w-full" aria-disabled={isBusy}>
          {isBusy ? t('reading') : t('read')}
        </Button>
      </div>
    </form>
  )
}
