import { type Actor, recordAudit } from '#lib/audit/record.ts'
import {
  type AnswerState,
  EVIDENCE_MAX,
  type EvidenceRequest,
  isAnswerable,
} from '#lib/charges/disputes/schema.ts'
import type { Evidence } from '#lib/charges/disputes/wire.ts'
import { readAttachmentType } from '#lib/core/attachments.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { isUuid, newRoutableId } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma, transaction } from '#lib/db/client.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'

/** Columns of Evidence, from a row `e`. */
const evidenceColumns = Prisma.sql`e.id, e.text, e.file_name, e.file_type,
  octet_length(e.file) AS file_bytes, ${utc('e.created_at')}`

/** Selects the evidence of a dispute `d` as a JSON array, in the order in which it was sent. */
export const evidenceListSql = Prisma.sql`(
  SELECT COALESCE(json_agg(${asJson(evidenceColumns)} ORDER BY e.id), '[]') FROM dispute_evidence e
  WHERE e.account_id = d.account_id AND e.dispute_id = d.id)`

export const evidenceCountSql = Prisma.sql`(SELECT count(*)::int FROM dispute_evidence e
  WHERE e.account_id = d.account_id AND e.dispute_id = d.id)`

interface EvidencedDispute {
  accountId: string
  mode: Mode
  id: string
}

/**
 * Stores evidence for the defense, as long as the bank has none. It cannot be changed: the operator may have used it.
 * Called twice with an id, the second call returns the stored evidence.
 */
export async function addEvidence(
  { accountId, mode, id }: EvidencedDispute,
  { text, file, file_name: fileName }: EvidenceRequest,
  actor: Actor,
  evidenceId: string = newRoutableId(accountId),
): Promise<Evidence> {
  const content = file === undefined ? null : Buffer.from(file, 'base64')
  const fileType = content && readAttachmentType(content)
  if (content && !fileType) throw invalidInput('file', 'must be a PDF, PNG or JPEG')
  await transaction(async tx => {
    const [dispute] = isUuid(id)
      ? await tx.$queryRaw<{ status: string; answerState: AnswerState | null }[]>`
          SELECT status, answer_state AS "answerState" FROM disputes
          WHERE account_id = ${accountId}::uuid AND mode = ${mode} AND id = ${id}::uuid FOR UPDATE`
      : []
    if (!dispute) throw refuse('dispute_not_found')
    const stored = await tx.disputeEvidence.findMany({
      where: { accountId, disputeId: id },
      select: { id: true },
    })
    if (stored.some(one => one.id === evidenceId)) return
    if (!isAnswerable(dispute.status, dispute.answerState))
      throw refuse('already_final', {
        subject: 'Dispute',
        status: dispute.status === 'open' ? 'answered' : dispute.status,
      })
    if (stored.length >= EVIDENCE_MAX)
      throw invalidInput(
        content ? 'file' : 'text',
        `must be within ${EVIDENCE_MAX} pieces of evidence per dispute, which this one has`,
      )
    await tx.disputeEvidence.create({
      data: {
        accountId,
        id: evidenceId,
        disputeId: id,
        text,
        file: content && new Uint8Array(content),
        fileType,
        fileName,
      },
    })
    const after = { mode, has_text: text !== undefined, has_file: content !== null }
    await recordAudit(tx, { actor, action: 'dispute.evidence_added', accountId, target: id, after })
  })
  const evidence = (await listEvidence(accountId, mode, id)).find(one => one.id === evidenceId)
  if (!evidence) throw new Invariant(`evidence ${evidenceId} was stored but is missing`)
  return evidence
}

export async function listEvidence(accountId: string, mode: Mode, id: string): Promise<Evidence[]> {
  const [dispute] = isUuid(id)
    ? await queryRows<{ evidence: Evidence[] }>(Prisma.sql`
        SELECT ${asJson(Prisma.sql`${evidenceListSql} AS evidence`)}::text AS json FROM disputes d
        WHERE d.account_id = ${accountId}::uuid AND d.mode = ${mode} AND d.id = ${id}::uuid`)
    : []
  if (!dispute) throw refuse('dispute_not_found')
  return dispute.evidence
}

/**
 * Reads the file of a piece of evidence, which may show a payer's data, so that a download by `staff` is audited. Its
 * name is made here: the merchant's may mislead a browser or a shell.
 */
export async function readEvidenceFile(
  { accountId, mode, id }: Omit<EvidencedDispute, 'mode'> & { mode?: Mode },
  evidenceId: string,
  staff?: Actor,
): Promise<{ attachment: Buffer; type: string; name: string }> {
  const found = [accountId, id, evidenceId].every(isUuid)
    ? await db().disputeEvidence.findFirst({
        where: {
          accountId,
          id: evidenceId,
          disputeId: id,
          file: { not: null },
          ...(mode && { dispute: { mode } }),
        },
        select: { file: true, fileType: true },
      })
    : null
  if (!found?.file || !found.fileType) throw refuse('dispute_not_found')
  const { file, fileType: type } = found
  const read = { accountId, target: id, after: { evidence: evidenceId } }
  if (staff)
    await recordAudit(db(), { actor: staff, action: 'dispute.evidence_downloaded', ...read })
  return { attachment: Buffer.from(file), type, name: `${evidenceId}.${type.split('/')[1]}` }
}
