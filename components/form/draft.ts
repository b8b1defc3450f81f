import { useEffect, useId, useRef } from 'react'
import { useOptionalApi } from '#components/form/api.ts'
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
import { type ApiScope, SESSION_ENDED_EVENT } from '#lib/core/call-api.ts'

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
      // What the user typed into the new page, after the draft was stored, stays.
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
