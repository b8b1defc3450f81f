import type { Prisma } from '#lib/base/db/client.ts'

/** A dispute as a bank reports it. */
export interface DisputeReport {
  connectionId: string
  /** The bank's id of the dispute. */
  bankId: string
  /** The payment that is disputed. */
  endToEndId: string
  /** Of a lost one: what leaves the account, which may be less than was disputed. */
  amount: number
  /** Until when the merchant's defence can be sent. */
  respondBy?: Date | null
}

export type DisputeRow = NonNullable<Awaited<ReturnType<Prisma.DisputeDelegate['findUnique']>>>
