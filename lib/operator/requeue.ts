import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { isTrocoError, refuse, type TrocoError } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { wake } from '#lib/db/wake.ts'
import type { RequeueRequest } from '#lib/operator/health-wire.ts'
import type { JobKind } from '#lib/operator/schema.ts'
import { listStuckJobsOfKind } from '#lib/operator/stuck.ts'
import { resendDelivery } from '#lib/webhooks/resend.ts'

/** Maximum jobs per request: more would exceed its time limit; the operator can repeat it. */
const JOBS_MAX = 200

export async function requeueJobs(
  { kind, account_id, id }: RequeueRequest,
  actor: Actor,
): Promise<number> {
  if (id !== undefined) {
    await requeueOne(kind, account_id ?? null, id, actor)
    return 1
  }
  let requeued = 0
  for (const job of await listStuckJobsOfKind(kind, JOBS_MAX)) {
    if (!job.can_run || job.is_held) continue
    // A job that ended or was claimed meanwhile needs no requeue.
    const isRequeued = await requeueOne(kind, job.account?.id ?? null, job.id, actor).then(
      () => true,
      error => {
        if (isTrocoError(error)) return false
        throw error
      },
    )
    if (isRequeued) requeued += 1
  }
  return requeued
}

/**
 * Makes a job due now and clears an expired lease. Id and attempts stay the same, so the worker
 * queries the bank for this id before it sends again. Refuses a job that a worker or a request is
 * processing.
 */
async function requeueOne(
  kind: JobKind,
  accountId: string | null,
  id: string,
  actor: Actor,
): Promise<void> {
  if (kind === 'mail') return requeueMail(id, actor)
  if (accountId === null) throw notFound()
  if (kind === 'delivery') return requeueDelivery(accountId, id, actor)
  const isCharge = kind === 'charge'
  const table = Prisma.raw(isCharge ? 'charges' : 'bank_orders')
  const isOpening = Prisma.raw(isCharge ? "status = 'opening'" : 'false')
  await transaction(async tx => {
    const rowCondition = Prisma.sql`account_id = ${accountId}::uuid AND id = ${id}::uuid`
    const [job] = await tx.$queryRaw<{ attempts: number; isHeld: boolean }[]>`
      SELECT attempts, due_at > now() AND (lease IS NOT NULL OR ${isOpening}) AS "isHeld"
      FROM ${table} WHERE ${rowCondition} AND due_at IS NOT NULL FOR UPDATE`
    requireUnclaimed(job)
    await tx.$executeRaw`
      UPDATE ${table} SET due_at = now(), lease = NULL WHERE ${rowCondition}`
    await recordRequeue(tx, { kind, accountId, id, attempts: job?.attempts ?? 0 }, actor)
  })
  wake(isCharge ? 'charges' : 'orders')
}

async function requeueMail(id: string, actor: Actor): Promise<void> {
  await transaction(async tx => {
    const [job] = await tx.$queryRaw<{ attempts: number; isHeld: boolean }[]>`
      SELECT attempts, due_at > now() AND lease IS NOT NULL AS "isHeld"
      FROM mails WHERE id = ${id}::uuid AND due_at IS NOT NULL FOR UPDATE`
    requireUnclaimed(job)
    await tx.$executeRaw`UPDATE mails SET due_at = now(), lease = NULL WHERE id = ${id}::uuid`
    await recordRequeue(tx, { kind: 'mail', id, attempts: job?.attempts ?? 0 }, actor)
  })
}

/** Starts a new round of attempts for a delivery that was given up, as a merchant's resend does. */
async function requeueDelivery(accountId: string, id: string, actor: Actor): Promise<void> {
  const found = await db().delivery.findUnique({ where: { accountId_id: { accountId, id } } })
  if (!found || found.status === 'delivered') throw notFound()
  const { attempts, mode } = found
  const owner = {
    accountId,
    mode: mode as Mode,
    note: (tx: Tx) => recordRequeue(tx, { kind: 'delivery', accountId, id, attempts }, actor),
  }
  await resendDelivery(owner, id)
}

function requireUnclaimed(job: { isHeld: boolean } | undefined): void {
  if (!job) throw notFound()
  if (job.isHeld)
    throw refuse('under_way', 'A worker is running this job: try again when it has finished')
}

interface RequeuedJob {
  kind: JobKind
  accountId?: string
  id: string
  attempts: number
}

function recordRequeue(
  tx: Tx,
  { kind, accountId, id, attempts }: RequeuedJob,
  actor: Actor,
): Promise<void> {
  const entry = { actor, action: 'job.requeued', accountId, target: id }
  return recordAudit(tx, { ...entry, after: { kind, attempts } })
}

function notFound(): TrocoError {
  return refuse('job_not_found')
}
