import { assignRole } from '#lib/accounts/assign.ts'
import { removeMember } from '#lib/accounts/remove.ts'
import { roleChange } from '#lib/accounts/schema.ts'
import { Done } from '#lib/accounts/wire.ts'
import { actorOf } from '#lib/audit/note.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const PATCH = endpoint({
  summary: 'Give a member another role',
  allow: 'members:write',
  takesProof: true,
  body: roleChange,
  answer: Done,
  refuses: ['member_not_found', 'last_owner'],
  async handle({ account, body, params: { id = '' }, userId }) {
    await assignRole(account.id, id, body.role, actorOf(userId))
    return { data: {} }
  },
})

export const DELETE = endpoint({
  summary: 'Take a member out of the account',
  allow: 'members:write',
  takesProof: true,
  answer: Done,
  refuses: ['member_not_found', 'last_owner'],
  async handle({ account, params: { id = '' }, userId }) {
    await removeMember(account.id, id, actorOf(userId))
    return { data: {} }
  },
})
