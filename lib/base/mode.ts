/** Each account has both worlds, and nothing crosses between them. */
export const MODES = ['test', 'live'] as const
export type Mode = (typeof MODES)[number]
