import * as z from 'zod'
import { SIMULATED_CODE_LOCATION } from '#lib/banks/simulator.ts'
import { findCharge } from '#lib/charges/list.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { ChargeDetail } from '#lib/charges/wire.ts'
import { must } from '#lib/core/fields.ts'
import { parseBrCode } from '#lib/core/pix/br-code.ts'
import type { BankProblem, BankReading } from '#lib/dashboard/schema.ts'

/** Maximum input: a PIX code has at most 512 characters. */
const CODE_MAX = 600

export const bankQuery = z.object({
  code: z
    .string(must('be a string'))
    .min(1, must('not be empty'))
    .max(CODE_MAX, must(`have at most ${CODE_MAX} characters`)),
})

const PROBLEMS = [
  'characters',
  'checksum',
  'structure',
  'missing',
  'currency',
  'country',
  'arrangement',
  'target',
  'unsupported',
  'location',
  'amount',
  'no_code',
  'real',
  'foreign',
] as BankProblem[]

const charge = ChargeDetail.pick({
  id: true,
  br_code: true,
  amount: true,
  status: true,
  external_id: true,
  expires_at: true,
})
const none = z.null()

export const BankRead = z.object({
  data: z.union([
    z.object({ problem: none, receiver: z.string(), city: z.string(), charge }),
    z.object({ problem: z.enum(PROBLEMS), receiver: none, city: none, charge: none }),
  ]) satisfies z.ZodType<BankReading>,
})

/** Reads a pasted code as the simulated bank does, which pays only this account's test charges. */
export async function readCode(accountId: string, pasted: string): Promise<BankReading> {
  const text = pasted
    .split(/[\r\n]/)
    .map(line => line.trim())
    .join('')
  // Checked before the checksum, which would report a URL or a word as a mistyped code.
  if (!text.startsWith('000201')) return problemReading('no_code')
  const reading = parseBrCode(text)
  if (!reading.ok) return problemReading(reading.error)
  const { code } = reading
  if (code.kind === 'static' || !code.location.startsWith(SIMULATED_CODE_LOCATION))
    return problemReading('real')
  const charge = await findByTxid(accountId, code.location.slice(SIMULATED_CODE_LOCATION.length))
  return charge?.br_code === text ? readChargeCode(charge) : problemReading('foreign')
}

/** Returns the data that a bank shows for a charge whose code is known to be valid. */
export function readChargeCode(charge: ChargeRow): BankReading {
  const reading = parseBrCode(charge.br_code)
  if (!reading.ok) return problemReading(reading.error)
  const { id, br_code, amount, status, external_id, expires_at } = charge
  return {
    problem: null,
    receiver: reading.code.merchantName,
    city: reading.code.merchantCity,
    charge: { id, br_code, amount, status, external_id, expires_at },
  }
}

function findByTxid(accountId: string, txid: string): Promise<ChargeRow | null> | null {
  const [, ...parts] = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/.exec(txid) ?? []
  return parts.length > 0 ? findCharge(accountId, 'test', parts.join('-')) : null
}

function problemReading(problem: BankProblem): BankReading {
  return { problem, receiver: null, city: null, charge: null }
}
