const KEPT_OUT_TYPES = ['password', 'hidden', 'file']
const KEPT_OUT_NAMES = ['code']
const KEPT_OUT_AUTOCOMPLETE = /password|one-time-code/

export type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

export function isTick(input: Input): input is HTMLInputElement {
  return input.type === 'checkbox' || input.type === 'radio'
}

export function isSecret({ type, name, autocomplete }: Input): boolean {
  return (
    KEPT_OUT_TYPES.includes(type) ||
    KEPT_OUT_NAMES.includes(name) ||
    KEPT_OUT_AUTOCOMPLETE.test(autocomplete)
  )
}

/** Sets a value as if it were typed, so that React notices the change. */
export function setValue(input: Input, value: string | undefined): void {
  if (value === undefined) return
  if (isTick(input)) {
    if (input.checked !== (value === 'on')) input.click()
    return
  }
  if (input.value === value) return
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(input), 'value')?.set?.call(input, value)
  input.dispatchEvent(new Event('input', { bubbles: true }))
  input.dispatchEvent(new Event('change', { bubbles: true }))
}

const earlyInputs = new WeakSet<Input>()

/** Returns whether the user set this control before the page's scripts ran. */
export function isEarly(input: Input): boolean {
  return earlyInputs.has(input)
}

/** Reports to React what was typed or chosen before hydration, which it keeps but does not notice. */
export async function adoptEarlyInput(form: HTMLFormElement): Promise<void> {
  const edits = [...form.elements]
    .filter(isInput)
    .filter(isEdited)
    .map(input => [input, readValue(input)] as const)
  for (const [input] of edits) earlyInputs.add(input)
  for (const [input, value] of edits) {
    // React renders before the next one, whose handler may build on the state that this one sets.
    await null
    if (readValue(input) === value) resetControl(input)
    setValue(input, value)
  }
}

export function isInput(element: Element): element is Input {
  return (
    element instanceof HTMLInputElement ||
    element instanceof HTMLSelectElement ||
    element instanceof HTMLTextAreaElement
  )
}

export function readValue(input: Input): string {
  if (isTick(input)) return input.checked ? 'on' : ''
  return input.value
}

/** Returns whether a control differs from the server's HTML. A chosen file cannot be set again. */
function isEdited(input: Input): boolean {
  if (input.type === 'file' || input.type === 'hidden') return false
  if (input instanceof HTMLSelectElement) return input.selectedIndex !== defaultIndexOf(input)
  if (!isTick(input)) return input.value !== input.defaultValue
  const isReplaced = input.type === 'radio' && !input.checked
  return !isReplaced && input.checked !== input.defaultChecked
}

function defaultIndexOf({ options }: HTMLSelectElement): number {
  const index = [...options].findIndex(option => option.defaultSelected)
  return index < 0 ? [...options].findIndex(option => !option.disabled) : index
}

/** React compares with the last value that it saw or that was set from a script, as here. */
function resetControl(input: Input): void {
  if (isTick(input)) input.checked = !input.checked
  else if (input instanceof HTMLSelectElement) input.selectedIndex = -1
  else input.value = input.defaultValue
}

/** Key of the draft in the session storage: one per browser tab, gone with it. */
export const DRAFT_KEY = 'troco-draft'

/** Called on signing out: the next user of this tab is another one. */
export function dropDraft(): void {
  sessionStorage.removeItem(DRAFT_KEY)
}
