/** How people end an order that the bank never answers. */
export const END_OUTCOMES = ['sent', 'not_sent'] as const
export type EndOutcome = (typeof END_OUTCOMES)[number]
