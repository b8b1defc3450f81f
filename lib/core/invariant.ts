/** A bug in Troco. The message is logged, so it has no value that a payer or merchant sent. */
export class Invariant extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Invariant'
  }
}

/** Compares the name: a process loads the class twice, natively and in Next's bundle. */
export function isInvariant(error: unknown): boolean {
  return error instanceof Error && error.name === 'Invariant'
}
