import { requireActor } from '#lib/base/audit/note.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { assignRole } from '#lib/rooms/accounts/assign.ts'
import { removeMember } from '#lib/rooms/accounts/remove.ts'
import { roleChange } from '#lib/rooms/accounts/schema.ts'
import { EmptyResponse } from '#lib/rooms/accounts/wire.ts'

export const PATCH = endpoint({
  method: 'PATCH',
  summary: 'Change the role of a member',
  allow: 'members:write',
  proof: 'required',
  body: roleChange,
  response: EmptyResponse,
  errorCodes: ['member_not_found', 'last_owner'],
  async handle({ account, body, params: { id = '' }, userId }) {
    await assignRole(account.id, id, body.role, requireActor(userId))
    return { data: {} }
  },
})

export const DELETE = endpoint({
  method: 'DELETE',
  summary: 'Remove a member',
  allow: 'members:write',
  proof: 'required',
  response: EmptyResponse,
  errorCodes: ['member_not_found', 'last_owner'],
  async handle({ account, params: { id = '' }, userId }) {
    await removeMember(account.id, id, requireActor(userId))
    return { data: {} }
  },
})
