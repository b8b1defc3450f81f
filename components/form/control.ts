const KEPT_OUT_TYPES = ['password', 'hidden', 'file']
const KEPT_OUT_NAMES = ['code']
const KEPT_OUT_AUTOCOMPLETE = /password|one-time-code/

export type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

export function isTick(input: Input): input is HTMLInputElement {
  return input.type === 'checkbox' || input.type === 'radio'
}

export function isSecret({ type, name, autocomplete }: Input): boolean {
  return KEPT_OUT_TYPES.includes(type) || KEPT_OUT_NAMES.includes(name) || KEPT_OUT_AUTOCOMPLETE.test(autocomplete)
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
