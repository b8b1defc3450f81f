import * as z from 'zod'
import { inviteMember, revokeInvitation } from '#lib/accounts/invitations.ts'
import { readTimeZone } from '#lib/accounts/queries.ts'
import { InvitationCreated, invitationRequest } from '#lib/accounts/schema.ts'
import { listAudit } from '#lib/audit/queries.ts'
import { requireActor } from '#lib/audit/record.ts'
import { AuditPage, auditQuery } from '#lib/audit/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import { EmptyResponse } from '#lib/core/fields.ts'
import { env } from '#lib/core/settings.ts'
import { auditExportQuery, exportAudit } from '#lib/dashboard/audit.ts'
import { BankRead, bankQuery, readCode } from '#lib/dashboard/bank.ts'
import { exportRefunds, recordExport, refundsExportQuery } from '#lib/dashboard/exports.ts'
import { FindQuery, findHits, HitList } from '#lib/dashboard/find.ts'
import { readFirstSteps, readHome } from '#lib/dashboard/home.ts'
import { exportQuery, exportStatement } from '#lib/dashboard/statement-export.ts'
import { HomeRead, homeQuery, StepsRead } from '#lib/dashboard/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { endpoints } from '#lib/http/routes.ts'
import { isMailServerSet } from '#lib/mail/queue.ts'
import { Profile, profileChange } from '#lib/people/schema.ts'
import { updateProfile } from '#lib/people/users.ts'
import { adoptToken } from '#lib/tokens/change.ts'
import { readToken } from '#lib/tokens/queries.ts'
import { TokenRead } from '#lib/tokens/schema.ts'

export const { GET, POST, PATCH, DELETE } = endpoints({
  'GET /dashboard/audit': endpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'List the audit log of the account',
    allow: 'audit:read',
    query: auditQuery,
    response: AuditPage,
    async handle({ account, query }) {
      return pageResult(await listAudit({ staff: false, accountId: account.id }, query))
    },
  }),
  'GET /dashboard/audit/export': endpoint({
    method: 'GET',
    summary: 'Export the audit log of the account as CSV',
    allow: 'audit:read',
    proof: 'required',
    query: auditExportQuery,
    response: z.string(),
    isExport: true,
    handle: ({ account, userId, query }) =>
      exportAudit({ staff: false, accountId: account.id }, requireActor(userId).id, query),
  }),
  'GET /dashboard/bank/read': endpoint({
    method: 'GET',
    summary: 'Read a Pix code at the simulated bank',
    allow: 'dashboard:read',
    query: bankQuery,
    response: BankRead,
    errorCodes: ['not_found'],
    async handle({ account, mode, query }) {
      if (mode !== 'test') throw refuse('not_found')
      return { data: await readCode(account.id, query.code) }
    },
  }),
  'GET /dashboard/find': endpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'Search the account',
    allow: 'dashboard:read',
    query: FindQuery,
    response: HitList,
    async handle({ account, mode, query, isViewing, readsPayers }) {
      return { data: await findHits(account.id, mode, query.q, readsPayers, isViewing) }
    },
  }),
  'GET /dashboard/home': endpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'Read the home page: balances, amounts received, latest charges',
    allow: 'dashboard:read',
    query: homeQuery,
    response: HomeRead,
    async handle({ account: { id }, mode, query }) {
      const timeZone = await readTimeZone(id)
      return { data: await readHome({ id, timeZone }, mode, query) }
    },
  }),
  'POST /dashboard/invitations': endpoint({
    method: 'POST',
    effect: 'invitation',
    summary: 'Invite a member and show the link once',
    allow: 'members:write',
    proof: 'required',
    body: invitationRequest,
    response: InvitationCreated,
    errorCodes: ['member_already', 'limit_reached'],
    // A retry gets no link, because only a hash of the link's secret is stored.
    idempotency: { retentionS: 86_400, rebuild: async (_call, id) => toResponse(id, null) },
    async handle({ account, body, userId, once }) {
      const { id, path } = await inviteMember(account.id, body, requireActor(userId), once)
      return toResponse(id, env().PUBLIC_URL + path)
    },
  }),
  'DELETE /dashboard/invitations/[id]': endpoint({
    method: 'DELETE',
    effect: 'none',
    summary: 'Revoke an invitation',
    allow: 'members:write',
    proof: 'required',
    response: EmptyResponse,
    errorCodes: ['invitation_not_found'],
    async handle({ account, params: { id = '' }, userId }) {
      await revokeInvitation(account.id, id, requireActor(userId))
      return { data: {} }
    },
  }),
  'PATCH /dashboard/profile': endpoint({
    method: 'PATCH',
    effect: 'none',
    summary: 'Change the own name, language and theme',
    allow: 'profile:write',
    proof: { notRequired: 'It changes the user’s own name, language and theme, and no access.' },
    body: profileChange,
    response: Profile,
    async handle({ body, userId }) {
      return { data: await updateProfile(requireActor(userId), body) }
    },
  }),
  'GET /dashboard/refunds/export': endpoint({
    method: 'GET',
    summary: 'Export the matching refunds as CSV',
    allow: 'dashboard:read',
    query: refundsExportQuery,
    response: z.string(),
    isExport: true,
    async handle({ account, mode, userId, query }) {
      await recordExport('refunds.exported', userId, account.id, { ...query, mode })
      return exportRefunds(account.id, mode, query)
    },
  }),
  'GET /dashboard/statement/export': endpoint({
    method: 'GET',
    summary: 'Export the statement of a period as CSV or OFX',
    allow: 'dashboard:read',
    query: exportQuery,
    response: z.string(),
    isExport: true,
    async handle({ account, mode, userId, query }) {
      await recordExport('statement.exported', userId, account.id, { ...query, mode })
      return exportStatement(account, mode, query)
    },
  }),
  'GET /dashboard/steps': endpoint({
    method: 'GET',
    summary: 'Read the completed onboarding steps',
    allow: 'dashboard:read',
    response: StepsRead,
    async handle({ account, mode }) {
      return { data: await readFirstSteps(account.id, mode) }
    },
  }),
  'POST /dashboard/tokens/[id]/adopt': endpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Confirm a token that exceeds the role of its issuer, and become its issuer',
    allow: 'tokens:adopt',
    proof: 'required',
    response: TokenRead,
    errorCodes: ['token_not_found', 'token_ended', 'permission_not_held'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, params: { id = '' }, userId }) {
      const accountId = account.id
      await adoptToken({ accountId, mode, id }, requireActor(userId))
      return { data: await readToken(accountId, mode, id) }
    },
  }),
})

function toResponse(id: string, link: string | null) {
  return { data: { id, link, is_mailed: isMailServerSet() } }
}
