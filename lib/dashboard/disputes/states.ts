/** open: can be answered. due: soon no more. answered: the bank decides, or has not confirmed the answer. */
export const DISPUTE_FILTERS = ['open', 'due', 'answered', 'closed'] as const

/** Time before a deadline from which it is near. */
export const DUE_SOON_HOURS = 48
