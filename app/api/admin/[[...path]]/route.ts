import * as z from 'zod'
import { inviteMerchant, revokeInvitation } from '#lib/accounts/invitations.ts'
import { listInvitations } from '#lib/accounts/queries.ts'
import { InvitationList, MerchantInvited, openingRequest } from '#lib/accounts/schema.ts'
import { listAudit } from '#lib/audit/queries.ts'
import { requireActor } from '#lib/audit/record.ts'
import { AuditPage, staffAuditQuery } from '#lib/audit/schema.ts'
import { refundOrders } from '#lib/charges/refunds/refund.ts'
import { EmptyResponse } from '#lib/core/fields.ts'
import { env } from '#lib/core/settings.ts'
import { exportAudit, staffAuditExportQuery } from '#lib/dashboard/audit.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { endpoints } from '#lib/http/routes.ts'
import { isMailServerSet } from '#lib/mail/queue.ts'
import { returnOrders } from '#lib/operator/differences/differences.ts'
import { listStaffTasks, readHealth } from '#lib/operator/health.ts'
import {
  endConfirmation,
  endProposal,
  OrderEndingRead,
  reasonRequest,
  StaffTaskList,
} from '#lib/operator/schema.ts'
import { readEnding, requeueJobs } from '#lib/operator/stuck.ts'
import { HealthRead, JobsRequeued, requeueRequest, SecondFactorReset } from '#lib/operator/wire.ts'
import { confirmEnd, proposeEnd } from '#lib/orders/end.ts'
import { mailResetLink, resetSecondFactor } from '#lib/people/password.ts'
import { withdrawalOrders } from '#lib/withdrawals/outcome.ts'

export const { GET, POST, DELETE } = endpoints({
  'GET /admin/audit': adminEndpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'List the audit log of the installation',
    query: staffAuditQuery,
    response: AuditPage,
    async handle({ query }) {
      return pageResult(await listAudit({ staff: true }, query))
    },
  }),
  'GET /admin/audit/export': adminEndpoint({
    method: 'GET',
    summary: 'Export the audit log of the installation as CSV',
    proof: 'required',
    query: staffAuditExportQuery,
    response: z.string(),
    handle: ({ user, query }) => exportAudit({ staff: true }, user.id, query),
  }),
  'GET /admin/health': adminEndpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'Read the system health and stuck jobs',
    response: HealthRead,
    async handle() {
      return { data: await readHealth() }
    },
  }),
  'GET /admin/invitations': adminEndpoint({
    method: 'GET',
    isCompressible: true,
    summary: "List the administrator's invitations",
    response: InvitationList,
    async handle() {
      return { data: await listInvitations(null) }
    },
  }),
  'POST /admin/invitations': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Invite a merchant to open an account and show the link once',
    body: openingRequest,
    response: MerchantInvited,
    errorCodes: ['sign_up_closed'],
    proof: 'required',
    async handle({ user, body }) {
      const { id, path } = await inviteMerchant(body.email, requireActor(user.id))
      return { data: { id, link: env().PUBLIC_URL + path, is_mailed: isMailServerSet() } }
    },
  }),
  'DELETE /admin/invitations/[id]': adminEndpoint({
    method: 'DELETE',
    effect: 'none',
    summary: "Revoke an administrator's invitation",
    response: EmptyResponse,
    errorCodes: ['invitation_not_found'],
    proof: 'required',
    async handle({ user, params: { id = '' } }) {
      await revokeInvitation(null, id, requireActor(user.id))
      return { data: {} }
    },
  }),
  'POST /admin/jobs/requeue': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Requeue one stuck job, or all of a kind',
    body: requeueRequest,
    response: JobsRequeued,
    errorCodes: ['job_not_found', 'under_way', 'endpoint_disabled', 'delivery_not_found'],
    proof: 'required',
    async handle({ user, body }) {
      return { data: { requeued: await requeueJobs(body, requireActor(user.id)) } }
    },
  }),
  'POST /admin/orders/[id]/end': adminEndpoint({
    method: 'POST',
    effect: 'end_proposal',
    summary: 'Propose how to end an order that the bank never answers',
    body: endProposal,
    response: OrderEndingRead,
    errorCodes: ['order_not_found', 'end_refused'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      await proposeEnd({ id, ...body }, user.id)
      return { data: await readEnding(id, user.id) }
    },
  }),
  'POST /admin/orders/[id]/end/confirm': adminEndpoint({
    method: 'POST',
    effect: 'end',
    summary: 'End an order as another admin proposed',
    body: endConfirmation,
    response: OrderEndingRead,
    errorCodes: ['order_not_found', 'end_by_other', 'end_refused'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      const confirmation = { id, proposalId: body.id, by: user.id }
      const rules = { withdrawal: withdrawalOrders, refund: refundOrders, return: returnOrders }
      await confirmEnd(confirmation, rules)
      return { data: await readEnding(id, user.id) }
    },
  }),
  'POST /admin/people/[id]/password': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Mail a person a link for a new password',
    body: reasonRequest,
    response: EmptyResponse,
    errorCodes: ['user_not_found', 'admin_reset_refused', 'not_supported'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      await mailResetLink(id, body.reason, requireActor(user.id))
      return { data: {} }
    },
  }),
  'POST /admin/people/[id]/second-factor': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Remove the second factors of a person and end their sessions',
    body: reasonRequest,
    response: SecondFactorReset,
    errorCodes: ['user_not_found', 'admin_reset_refused', 'not_supported'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      const isChanged = await resetSecondFactor(id, body.reason, requireActor(user.id))
      return { data: { is_changed: isChanged } }
    },
  }),
  'GET /admin/tasks': adminEndpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'List what waits for a person of the staff, the most urgent first',
    response: StaffTaskList,
    async handle() {
      return { data: await listStaffTasks() }
    },
  }),
})
