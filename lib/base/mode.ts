/** Each account has both worlds, and nothing crosses between them. */
export const MODES = ['test', 'live'] as const
export type Mode = (typeof MODES)[number]

/** Live mode stays closed until the operator has configured a bank, and there is none to configure yet. */
export function isOpen(mode: Mode): boolean {
  return mode === 'test'
}
