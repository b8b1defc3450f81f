'use client'

import { type FocusEvent, type InputEvent, type SubmitEvent, useRef, useState } from 'react'
import type { ZodType } from 'zod'
import { ApiProblem } from '#lib/edge/client/api.ts'

/** Of a field that is wrong: whether it is empty, or holds what it may not. */
export type FieldProblem = 'required' | 'invalid'

interface FormRules<Wire> {
  /** The schema by which the server judges, too. */
  schema: ZodType<Wire>
  /** What the fields hold, as it goes over the wire; an empty one is undefined. */
  read: (data: FormData) => unknown
  /** Sends it. The key stays the same until something in the form is changed. */
  send: (body: Wire, idempotencyKey: string) => Promise<void>
}

export interface Form {
  problems: Record<string, FieldProblem>
  /** Why the server refused, unless it named a field. */
  failure: unknown
  isBusy: boolean
  /** For the <form> itself. */
  props: {
    noValidate: true
    onSubmit: (event: SubmitEvent<HTMLFormElement>) => Promise<void>
    onBlur: (event: FocusEvent<HTMLFormElement>) => void
    onInput: () => void
  }
}

/** Judges a form as it is filled in, sends it once, and puts what the server refuses at its field. */
export function useForm<Wire>({ schema, read, send }: FormRules<Wire>): Form {
  const [problems, setProblems] = useState<Form['problems']>({})
  const [failure, setFailure] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const key = useRef<string | null>(null)

  async function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    if (isBusy) return
    const form = event.currentTarget
    const judged = judge(schema, read(new FormData(form)))
    setProblems(judged.problems)
    setFailure(null)
    if (!judged.ok) return focusFirst(form, judged.problems)
    setBusy(true)
    key.current ??= crypto.randomUUID()
    try {
      await send(judged.body, key.current)
    } catch (error) {
      const refused = error instanceof ApiProblem ? fieldsOf(error, form) : {}
      setProblems(refused)
      if (Object.keys(refused).length === 0) setFailure(error)
      focusFirst(form, refused)
    } finally {
      setBusy(false)
    }
  }

  function onBlur(event: FocusEvent<HTMLFormElement>) {
    const { name: whole, value } = event.target as unknown as HTMLInputElement
    // An input of a row is called after its list, as in items.1.price.
    const name = whole?.split('.')[0]
    if (!name || (value === '' && !problems[name])) return
    // Sending judges it anyway; words that go meanwhile would move the button away from the pointer.
    if (event.relatedTarget?.matches('[type=submit]')) return
    const judged = judge(schema, read(new FormData(event.currentTarget)))
    const { [name]: _, ...others } = problems
    const own = judged.problems[name]
    setProblems(own ? { ...others, [name]: own } : others)
  }

  const onInput = () => {
    key.current = null
  }
  return { problems, failure, isBusy, props: { noValidate: true, onSubmit, onBlur, onInput } }
}

/**
 * For a form that shows what is kept already: while it says the same there is nothing to send, and
 * `onEdit` hears of each change.
 */
export function editing({ props }: Form, isUnchanged: boolean, onEdit: (data: FormData) => void) {
  return {
    ...props,
    async onSubmit(event: SubmitEvent<HTMLFormElement>) {
      if (isUnchanged) event.preventDefault()
      else await props.onSubmit(event)
    },
    onInput(event: InputEvent<HTMLFormElement>) {
      props.onInput()
      onEdit(new FormData(event.currentTarget))
    },
  }
}

type Judged<Wire> = { problems: Form['problems'] } & ({ ok: true; body: Wire } | { ok: false })

function judge<Wire>(schema: ZodType<Wire>, given: unknown): Judged<Wire> {
  const { success, data, error } = schema.safeParse(given)
  if (success) return { ok: true, body: data, problems: {} }
  const problems: Form['problems'] = {}
  for (const { path } of error.issues) {
    const name = String(path[0] ?? '')
    const value = (given as Record<string, unknown>)[name]
    problems[name] ??= value === undefined ? 'required' : 'invalid'
  }
  return { ok: false, problems }
}

/** Which of the server's fields stand in this form. */
function fieldsOf({ fields, code }: ApiProblem, form: HTMLFormElement): Form['problems'] {
  if (code !== 'invalid_input') return {}
  const here = Object.keys(fields).filter(name => form.elements.namedItem(name))
  return Object.fromEntries(here.map(name => [name, 'invalid' as const]))
}

function focusFirst(form: HTMLFormElement, problems: Form['problems']): void {
  const first = [...form.elements].find(element => problems[element.getAttribute('name') ?? ''])
  if (first instanceof HTMLElement) first.focus()
}
