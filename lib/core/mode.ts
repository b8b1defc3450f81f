/** Modes of an account. Each account has both; no data crosses between them. */
export const MODES = ['test', 'live'] as const
export type Mode = (typeof MODES)[number]
