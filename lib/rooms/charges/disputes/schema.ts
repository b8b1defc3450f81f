import type { Prisma } from '#lib/base/db/client.ts'

/** A dispute as a bank reports it. */
export interface DisputeReport {
  connectionId: string
  /** The bank's id of the dispute. */
  bankId: string
  /** The payment that is disputed. */
  endToEndId: string
  /** Disputed amount. At the end of a lost dispute: the amount that leaves, which may be less. */
  amount: number
  /** Until when the merchant's defence can be sent. */
  respondBy?: Date | null
}

export type DisputeRow = NonNullable<Awaited<ReturnType<Prisma.DisputeDelegate['findUnique']>>>
