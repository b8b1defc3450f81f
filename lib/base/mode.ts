/** Each account has both modes; no data crosses between them. */
export const MODES = ['test', 'live'] as const
export type Mode = (typeof MODES)[number]
