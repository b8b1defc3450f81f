/**
 * A broken invariant: a bug in Troco, never caused by input. Its message is logged, so it may contain
 * ids, counts and names, but no value that a payer or merchant sent.
 */
export class Invariant extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Invariant'
  }
}

/**
 * Compares the name, not the class: a process loads the class twice, natively and in Next's bundle.
 */
export function isInvariant(error: unknown): boolean {
  return error instanceof Error && error.name === 'Invariant'
}
