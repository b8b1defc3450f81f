/** Shorter endings would match by chance; without a digit they would be words. */
const TAIL = /^(?=.*\d)[0-9A-Z]{4,32}$/i

/** Returns the end of an end-to-end id, reversed in upper case; null if the text cannot be one. */
export function reverseTail(text: string): string | null {
  return TAIL.test(text) ? [...text.toUpperCase()].toReversed().join('') : null
}
