import * as z from 'zod'
import { ATTACHMENT_TYPES } from '#lib/core/attachments.ts'
import { instant, listQuery, modeField, openApiMeta, pageOf } from '#lib/core/fields.ts'

export const DISPUTE_STATUSES = ['open', 'won', 'lost'] as const

const STATUS_DESCRIPTION =
  '`open`: the disputed amount is held. `won`: it has returned to the balance. `lost`: `lost_amount` went to the payer, the rest has returned to the balance.'

const DisputeStatus = z
  .enum(DISPUTE_STATUSES)
  .meta({ id: 'DisputeStatus', ...openApiMeta(STATUS_DESCRIPTION, 'open') })

export const DisputeDetail = z
  .object({
    id: z.uuid().meta(openApiMeta('Id of the dispute.', '01a1fbd2-4c1a-7e63-8b0f-9a2d5c7e1f36')),
    transaction_id: z
      .uuid()
      .meta(openApiMeta('Id of the disputed charge.', '01a1fbb6-bf1b-7d40-9b0e-5f0f2d1c88aa')),
    amount: z.int().meta(openApiMeta('Disputed amount, in cents.', 1500)),
    lost_amount: z
      .int()
      .nullable()
      .meta(openApiMeta('Amount that went to the payer, in cents; null unless it was lost.', null)),
    status: DisputeStatus,
    mode: modeField,
    respond_by: instant
      .nullable()
      .meta(
        openApiMeta(
          'Time until which your administrator can answer the dispute, or null.',
          '2026-11-28T01:27:00.000000Z',
        ),
      ),
    closed_at: instant.nullable().meta(openApiMeta('Time of the end, or null.', null)),
    created_at: instant.meta(openApiMeta('Time of creation.', '2026-11-21T01:36:09.427318Z')),
    updated_at: instant.meta(
      openApiMeta('Time of the last change.', '2026-11-21T01:36:09.427318Z'),
    ),
  })
  .meta({ id: 'Dispute' })
export type DisputeDetail = z.infer<typeof DisputeDetail>

export const Evidence = z
  .object({
    id: z.uuid().meta(openApiMeta('Id of the evidence.', '01a1fbd2-4c1a-7e63-8b0f-9a2d5c7e1f37')),
    text: z
      .string()
      .nullable()
      .meta(openApiMeta('Text, or null.', 'Delivered on 20 November, tracking number BR123.')),
    file_name: z
      .string()
      .nullable()
      .meta(openApiMeta('Name of the file, or null.', 'delivery.pdf')),
    file_type: z
      .enum(ATTACHMENT_TYPES)
      .nullable()
      .meta(openApiMeta('Media type of the file by its content, or null.', 'application/pdf')),
    file_bytes: z.int().nullable().meta(openApiMeta('Size of the file, or null.', 48_213)),
    created_at: instant.meta(openApiMeta('Time of creation.', '2026-11-21T01:36:09.427318Z')),
  })
  .meta({ id: 'DisputeEvidence' })
export type Evidence = z.infer<typeof Evidence>
export const EvidenceRead = z.object({ data: Evidence }).meta({ id: 'DisputeEvidenceRead' })
export const EvidenceList = z
  .object({ data: z.array(Evidence) })
  .meta({ id: 'DisputeEvidenceList' })

export const DisputeRead = z.object({ data: DisputeDetail }).meta({ id: 'DisputeRead' })
export const DisputePage = pageOf(DisputeDetail).meta({ id: 'DisputePage' })

/** Filters for disputes, which have no merchant reference and no searchable text. */
export const disputesQuery = listQuery(DISPUTE_STATUSES).omit({ external_id: true, q: true })
