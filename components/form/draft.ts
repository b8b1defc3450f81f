import { useEffect, useId, useRef } from 'react'
import { useOptionalApi } from '#components/form/api.ts'
import {
  type Input,
  isEarly,
  isInput,
  isSecret,
  isTick,
  readValue,
  setValue,
} from '#components/form/control.ts'
import { SESSION_ENDED_EVENT } from '#lib/edge/client/api.ts'

/** One draft per browser tab, gone with it. */
const DRAFT_KEY = 'troco-draft'
/** Age from which a draft is no longer put back: the user has gone on to something else. */
const AGE_MAX_MS = 60 * 60_000

interface Draft {
  path: string
  accountId: string | null
  savedAtMs: number
  /** Names and values in the order of the form; those of checkboxes are `on` or empty. */
  fields: [name: string, value: string][]
}

/**
 * Keeps what was typed when the session ends, without secrets, and puts it back when the same form is
 * shown again. Returns the id for the form, and a function that marks it as edited.
 */
export function useDraft(): { id: string; markEdited: () => void } {
  const id = useId()
  const isEdited = useRef(false)
  const accountId = useOptionalApi()?.scope.accountId ?? null
  useEffect(() => {
    const findForm = () => document.getElementById(id)
    const form = findForm()
    if (form instanceof HTMLFormElement && restoreDraft(form, accountId)) isEdited.current = true
    const save = () => {
      const current = findForm()
      if (isEdited.current && current instanceof HTMLFormElement) saveDraft(current, accountId)
    }
    addEventListener(SESSION_ENDED_EVENT, save)
    return () => removeEventListener(SESSION_ENDED_EVENT, save)
  }, [id, accountId])
  return {
    id,
    markEdited() {
      isEdited.current = true
    },
  }
}

/** Called on signing out: the next user of this tab is another one. */
export function dropDraft(): void {
  sessionStorage.removeItem(DRAFT_KEY)
}

function saveDraft(form: HTMLFormElement, accountId: string | null): void {
  const fields = listInputs(form).map((input): Draft['fields'][number] => [
    keyOf(input),
    readValue(input),
  ])
  const draft: Draft = { path: location.pathname, accountId, savedAtMs: Date.now(), fields }
  sessionStorage.setItem(DRAFT_KEY, JSON.stringify(draft))
}

/** Fields that appear only after another has its value are set in a second pass. */
function restoreDraft(form: HTMLFormElement, accountId: string | null): boolean {
  const draft = readDraft()
  if (!draft || draft.path !== location.pathname || draft.accountId !== accountId) return false
  const values = new Map(draft.fields)
  const inputs = listInputs(form)
  if (inputs.length === 0 || inputs.some(input => !values.has(keyOf(input)))) return false
  dropDraft()
  const restore = () => {
    for (const input of listInputs(form)) {
      // The user typed this into the new page, after the draft was stored.
      if (!isEarly(input)) setValue(input, values.get(keyOf(input)))
    }
  }
  restore()
  setTimeout(restore)
  return true
}

function readDraft(): Draft | null {
  const text = sessionStorage.getItem(DRAFT_KEY)
  const draft = text === null ? null : (JSON.parse(text) as Draft)
  if (draft && Date.now() - draft.savedAtMs < AGE_MAX_MS) return draft
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
