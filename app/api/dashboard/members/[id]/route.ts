import { assignRole, removeMember } from '#lib/accounts/members.ts'
import { memberRemoval, roleChange } from '#lib/accounts/schema.ts'
import { requireActor } from '#lib/audit/record.ts'
import { EmptyResponse } from '#lib/core/fields.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { createTokenAdoption } from '#lib/tokens/change.ts'

export const PATCH = endpoint({
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
})

export const DELETE = endpoint({
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
})
