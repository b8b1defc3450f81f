import type { GatewayResult } from '#lib/banks/gateway.ts'
import { Prisma } from '#lib/db/client.ts'

export interface AdmittedCall {
  connectionId: string
  operation: string
  probe: string | null
  isRepeated?: boolean
  failuresMax?: number
}

/** A rejection, a limit of the rate and a block are answers: the connection works. */
export function isFailure(result: GatewayResult<unknown>): boolean {
  if (result.outcome === 'retryable') return !result.isRateLimit && !result.isAnswered
  return result.outcome === 'unknown'
}

const REASON_MAX = 300

/**
 * Returns what the column `blocks` of connection_states `s` becomes by a result, or null if it stays.
 * `known`: code of what the bank blocks of the operation. The time of the first result stays.
 */
export function changedBlocks(
  operation: string,
  known: string | undefined,
  result: GatewayResult<unknown>,
): Prisma.Sql | null {
  if (result.outcome === 'ok' && known !== undefined)
    return Prisma.sql`s.blocks - ${operation}::text`
  if (result.outcome !== 'blocked' || known === result.code) return null
  // jsonb cannot store NUL and unpaired surrogates.
  const text = result.reason.slice(0, REASON_MAX).replaceAll('\0', '').toWellFormed()
  return Prisma.sql`s.blocks || jsonb_build_object(${operation}::text,
    jsonb_build_object('since', now()) || COALESCE(s.blocks -> ${operation}::text, '{}')
      || jsonb_build_object('code', ${result.code}::text, 'reason', ${text}::text))`
}
