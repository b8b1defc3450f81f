import { assignRole, leaveAccount, removeMember } from '#lib/accounts/members.ts'
import { listInvitations, listMembers } from '#lib/accounts/queries.ts'
import { MemberList, memberRemoval, roleChange } from '#lib/accounts/schema.ts'
import { requireActor } from '#lib/audit/record.ts'
import { EmptyResponse } from '#lib/core/fields.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { endpoints } from '#lib/http/routes.ts'
import { createTokenAdoption, listIssuedTokens, revokeChildren } from '#lib/tokens/change.ts'
import { IssuedTokenList } from '#lib/tokens/schema.ts'

export const { GET, POST, PATCH, DELETE } = endpoints({
  'GET /dashboard/members': endpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'List members and open invitations',
    allow: 'members:read',
    response: MemberList,
    async handle({ account: { id } }) {
      const [members, invitations] = await Promise.all([listMembers(id), listInvitations(id)])
      return { data: { members, invitations } }
    },
  }),
  'PATCH /dashboard/members/[id]': endpoint({
    method: 'PATCH',
    effect: 'role',
    summary: 'Change the role of a member',
    allow: 'members:write',
    proof: 'required',
    body: roleChange,
    response: EmptyResponse,
    errorCodes: ['member_not_found', 'last_owner', 'tokens_undecided', 'permission_not_held'],
    async handle({ account, body: { role, tokens }, params: { id = '' }, userId }) {
      const [member, actor] = [{ accountId: account.id, userId: id }, requireActor(userId)]
      await assignRole({ ...member, role }, actor, createTokenAdoption(member, tokens, actor))
      return { data: {} }
    },
  }),
  'DELETE /dashboard/members/[id]': endpoint({
    method: 'DELETE',
    effect: 'removal',
    summary: 'Remove a member',
    allow: 'members:write',
    proof: 'required',
    body: memberRemoval,
    response: EmptyResponse,
    errorCodes: ['member_not_found', 'last_owner', 'tokens_undecided', 'permission_not_held'],
    async handle({ account, body: { tokens }, params: { id = '' }, userId }) {
      const [member, actor] = [{ accountId: account.id, userId: id }, requireActor(userId)]
      await removeMember(member, actor, createTokenAdoption(member, tokens, actor))
      return { data: {} }
    },
  }),
  'GET /dashboard/members/[id]/tokens': endpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'List the active tokens that a member issued, in both modes',
    allow: 'members:read',
    response: IssuedTokenList,
    errorCodes: ['member_not_found'],
    async handle({ account, params: { id = '' } }) {
      return { data: await listIssuedTokens({ accountId: account.id, userId: id }) }
    },
  }),
  'POST /dashboard/members/leave': endpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Leave the account',
    allow: 'members:leave',
    proof: 'required',
    response: EmptyResponse,
    errorCodes: ['last_owner'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, userId }) {
      const actor = requireActor(userId)
      await leaveAccount(account.id, actor, tx => revokeChildren(tx, account.id, actor))
      return { data: {} }
    },
  }),
})
