/**
 * A broken invariant of Troco's own, never caused by input. Its message is logged, so it may hold
 * ids, counts and names only, no value that a payer or merchant sent.
 */
export class Invariant extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Invariant'
  }
}

/** Compares the name, never the class: one process loads it twice, natively and in Next's bundle. */
export function isInvariant(error: unknown): boolean {
  return error instanceof Error && error.name === 'Invariant'
}
