'use client'

import { Check } from 'lucide-react'
import { useTranslations } from 'next-intl'
import {
  type FocusEvent,
  type FormEvent,
  type InputEvent,
  type SubmitEvent,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'
import type { ZodType } from 'zod'
import { ApiError, type ApiScope, SESSION_ENDED_EVENT } from '#components/api/client.ts'
import { Problem } from '#components/api/problem.tsx'
import { useOptionalApi } from '#components/api/use-api.ts'
import {
  DRAFT_KEY,
  dropDraft,
  type Input,
  isEarly,
  isInput,
  isSecret,
  isTick,
  readValue,
  setValue,
} from '#components/form/control.ts'
import { Button } from '#components/ui/button.tsx'

export type FieldProblem = 'required' | 'invalid'

interface FormOptions<Wire> {
  /** The schema that the server validates with. */
  schema: ZodType<Wire>
  /** Builds the request body; an empty field is undefined. */
  read: (data: FormData) => unknown
  /** Sends the body. The idempotency key stays the same until an input changes. */
  send: (body: Wire, idempotencyKey: string) => Promise<void>
}

export interface Form {
  problems: Record<string, FieldProblem>
  /** The server's error, unless it named a field of this form. */
  failure: unknown
  isBusy: boolean
  props: {
    id: string
    method: 'post'
    noValidate: true
    onSubmit: (event: SubmitEvent<HTMLFormElement>) => Promise<void>
    onBlur: (event: FocusEvent<HTMLFormElement>) => void
    /** Without an event: rows were added or removed. */
    onInput: (event?: FormEvent<HTMLFormElement>) => void
  }
}

/** Validates a form while it is filled in, sends it once, and shows server errors at the fields. */
export function useForm<Wire>({ schema, read, send }: FormOptions<Wire>): Form {
  const [problems, setProblems] = useState<Form['problems']>({})
  const [failure, setFailure] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const { id, markEdited } = useDraft()
  const idempotencyKey = useRef<string | null>(null)
  /** Fields that the server refused although the schema accepts them. */
  const refusedNames = useRef(new Set<string>())

  async function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    if (isBusy) return
    const form = event.currentTarget
    const validation = validate(schema, read(new FormData(form)))
    setProblems(validation.problems)
    refusedNames.current.clear()
    setFailure(null)
    if (!validation.ok) return focusFirstProblem(form, validation.problems)
    setBusy(true)
    idempotencyKey.current ??= crypto.randomUUID()
    try {
      await send(validation.body, idempotencyKey.current)
    } catch (error) {
      const refusedFields = error instanceof ApiError ? refusedFieldsOf(error, form) : {}
      setProblems(refusedFields)
      refusedNames.current = new Set(Object.keys(refusedFields))
      if (Object.keys(refusedFields).length === 0) setFailure(error)
      focusFirstProblem(form, refusedFields)
    } finally {
      setBusy(false)
    }
  }

  function onBlur(event: FocusEvent<HTMLFormElement>) {
    const { value } = event.target as unknown as HTMLInputElement
    const name = fieldNameOf(event)
    if (!name || (value === '' && !problems[name])) return
    // Removing a message here would move the button before the click ends; submitting validates.
    if (event.relatedTarget?.matches('[type=submit]')) return
    const validation = validate(schema, read(new FormData(event.currentTarget)))
    const ownProblem = validation.problems[name]
    const otherProblems = filterKeys(problems, other => other !== name)
    setProblems(ownProblem ? { ...otherProblems, [name]: ownProblem } : otherProblems)
  }

  /** Removes messages that no longer apply; those of the server stay until their field is edited. */
  function onInput(event?: FormEvent<HTMLFormElement>) {
    idempotencyKey.current = null
    markEdited()
    if (!event || Object.keys(problems).length === 0) return
    refusedNames.current.delete(fieldNameOf(event))
    const { problems: found } = validate(schema, read(new FormData(event.currentTarget)))
    const isCurrent = (name: string) => refusedNames.current.has(name) || found[name]
    setProblems(filterKeys(problems, isCurrent))
  }
  const handlers = { onSubmit, onBlur, onInput }
  return { problems, failure, isBusy, props: { id, method: 'post', noValidate: true, ...handlers } }
}

/** Returns the name of the edited field. In a row it begins with its list: `items.1.price`. */
function fieldNameOf(event: FormEvent<HTMLFormElement>): string {
  return (event.target as unknown as HTMLInputElement).name?.split('.')[0] ?? ''
}

function filterKeys(problems: Form['problems'], isKept: (name: string) => unknown) {
  return Object.fromEntries(Object.entries(problems).filter(([name]) => isKept(name)))
}

/** Returns props of a form that edits stored values: submits only if changed, reports each edit. */
export function editFormProps(
  { props }: Form,
  isUnchanged: boolean,
  onEdit: (data: FormData) => void,
) {
  return {
    ...props,
    async onSubmit(event: SubmitEvent<HTMLFormElement>) {
      if (isUnchanged) event.preventDefault()
      else await props.onSubmit(event)
    },
    onInput(event: InputEvent<HTMLFormElement>) {
      props.onInput(event)
      onEdit(new FormData(event.currentTarget))
    },
  }
}

type Validation<Wire> = { problems: Form['problems'] } & ({ ok: true; body: Wire } | { ok: false })

function validate<Wire>(schema: ZodType<Wire>, input: unknown): Validation<Wire> {
  const { success, data, error } = schema.safeParse(input)
  if (success) return { ok: true, body: data, problems: {} }
  const problems: Form['problems'] = {}
  for (const { path } of error.issues) {
    const name = String(path[0] ?? '')
    const value = (input as Record<string, unknown>)[name]
    problems[name] ??= value === undefined ? 'required' : 'invalid'
  }
  return { ok: false, problems }
}

/** Codes whose response names the invalid fields. The form shows its own message at each of them. */
export const FIELD_CODES = [
  'invalid_input',
  'refund_exceeds_remainder',
  'refused_by_bank',
  'placeholder_document',
]

/** Returns the fields that the response reports as invalid and that this form contains. */
function refusedFieldsOf({ fields, code }: ApiError, form: HTMLFormElement): Form['problems'] {
  if (!FIELD_CODES.includes(code)) return {}
  const fieldNames = Object.keys(fields).filter(name => form.elements.namedItem(name))
  return Object.fromEntries(fieldNames.map(name => [name, 'invalid' as const]))
}

function focusFirstProblem(form: HTMLFormElement, problems: Form['problems']): void {
  const first = [...form.elements].find(element => problems[element.getAttribute('name') ?? ''])
  if (first instanceof HTMLElement) first.focus()
}

interface SaveButtonProps {
  isBusy: boolean
  isSaved: boolean
  failure: unknown
  isUnchanged: boolean
}

export function SaveButton({ isBusy, isSaved, failure, isUnchanged }: SaveButtonProps) {
  const t = useTranslations('settings')
  return (
    <div className="grid gap-4">
      <Problem error={failure} />
      <div className="flex items-center gap-3.5">
        <Button
          variant={isUnchanged ? 'quiet' : 'primary'}
          type="submit"
          aria-disabled={isBusy || isUnchanged}
          className="aria-disabled:cursor-default aria-disabled:text-muted"
        >
          {isBusy ? t('busy') : t('save')}
        </Button>
        <p role="status" className="flex items-center gap-1.5 font-medium text-ok text-small">
          {isSaved ? (
            <>
              <Check size={16} aria-hidden />
              {t('saved')}
            </>
          ) : null}
        </p>
      </div>
    </div>
  )
}

/** Age from which a draft is no longer put back: the user has gone on to something else. */
const AGE_MAX_MS = 60 * 60_000

type Owner = Pick<ApiScope, 'userId' | 'accountId'>

export type DraftField = [name: string, value: string]

interface Draft extends Owner {
  path: string
  /** Which form of the page: see `identify`. */
  form: string
  savedAtMs: number
  /** In the order of the form; values of checkboxes are `on` or empty. */
  fields: DraftField[]
}

/**
 * Keeps what a signed-in user typed when the session ends, without secrets, and puts it back when the
 * same user is shown the same form. Returns the id for the form, and a function that marks it as edited.
 */
export function useDraft(): { id: string; markEdited: () => void } {
  const id = useId()
  const isEdited = useRef(false)
  const { userId = null, accountId = null } = useOptionalApi()?.scope ?? {}
  useEffect(() => {
    const findForm = () => {
      const form = document.getElementById(id)
      return form instanceof HTMLFormElement ? form : null
    }
    const shown = findForm()
    if (!shown || userId === null) return
    const place = { userId, accountId, path: location.pathname, form: identify(shown) }
    if (restoreDraft(shown, place)) isEdited.current = true
    const save = () => {
      const current = findForm()
      if (isEdited.current && current) saveDraft(current, place)
    }
    addEventListener(SESSION_ENDED_EVENT, save)
    return () => removeEventListener(SESSION_ENDED_EVENT, save)
  }, [id, userId, accountId])
  return {
    id,
    markEdited() {
      isEdited.current = true
    },
  }
}

type Place = Omit<Draft, 'savedAtMs' | 'fields'>

/** Identifies a form of the page by its fields, its button and its position among equal forms. */
function identify(form: HTMLFormElement): string {
  const describe = (one: HTMLFormElement) => {
    const names = listInputs(one).map(keyOf)
    return [...names, one.querySelector('[type=submit]')?.textContent].join()
  }
  const description = describe(form)
  const equal = [...document.forms].filter(one => describe(one) === description)
  return `${description} ${equal.indexOf(form)}`
}

function saveDraft(form: HTMLFormElement, place: Place): void {
  const fields = listInputs(form).map((input): DraftField => [keyOf(input), readValue(input)])
  const draft: Draft = { ...place, savedAtMs: Date.now(), fields }
  sessionStorage.setItem(DRAFT_KEY, JSON.stringify(draft))
}

/** Announces a draft's fields, before their values are put back, so that their rows can be added. */
export const DRAFT_EVENT = 'troco-draft'
/** For so long, fields that appear get the values of the draft. */
const RESTORE_MAX_MS = 2_000

/** A field may appear only after another has its value, and a row after the announcement. */
function restoreDraft(form: HTMLFormElement, place: Place): boolean {
  const draft = readDraft(place.userId)
  if (!draft || draft.path !== place.path || draft.accountId !== place.accountId) return false
  if (draft.form !== place.form) return false
  const values = new Map(draft.fields)
  dropDraft()
  const restore = () => {
    for (const input of listInputs(form)) {
      const key = keyOf(input)
      // A value that the user has typed since the page was loaded is newer than the draft.
      if (!isEarly(input)) setValue(input, values.get(key))
      values.delete(key)
    }
  }
  dispatchEvent(new CustomEvent(DRAFT_EVENT, { detail: draft.fields }))
  restore()
  const observer = new MutationObserver(restore)
  observer.observe(form, { childList: true, subtree: true })
  setTimeout(() => observer.disconnect(), RESTORE_MAX_MS)
  return true
}

/** Deletes the draft of another user, and an old one. */
function readDraft(userId: string | null): Draft | null {
  const text = sessionStorage.getItem(DRAFT_KEY)
  const draft = text === null ? null : (JSON.parse(text) as Draft)
  const isOwn = draft?.userId === userId
  if (draft && isOwn && Date.now() - draft.savedAtMs < AGE_MAX_MS) return draft
  dropDraft()
  return null
}

function listInputs(form: HTMLFormElement): Input[] {
  return [...form.elements].filter(isInput).filter(input => input.name !== '' && !isSecret(input))
}

/** Several checkboxes or radio buttons share a name. */
function keyOf(input: Input): string {
  return isTick(input) ? `${input.name}=${input.value}` : input.name
}
