export const CONNECTION_KINDS = ['simulator', 'api_pix', 'efi'] as const
export type ConnectionKind = (typeof CONNECTION_KINDS)[number]

/** A bank's connection for homologation is checked and tried, and never serves an account. */
export const ENVIRONMENTS = ['homologation', 'production'] as const
export type Environment = (typeof ENVIRONMENTS)[number]
