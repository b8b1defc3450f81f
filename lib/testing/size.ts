/** Set by `npm run torture`, which has time for long proofs. */
const { TORTURE_FIGURES } = process.env

/** Returns `small` in `npm test`, `full` in `npm run torture`. */
export function pickSize<T = number>(small: T, full: T): T {
  return TORTURE_FIGURES ? full : small
}
