import { revokeInvitation } from '#lib/accounts/revoke.ts'
import { Done } from '#lib/accounts/wire.ts'
import { actorOf } from '#lib/audit/note.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const DELETE = endpoint({
  summary: 'Take an invitation back',
  allow: 'members:write',
  takesProof: true,
  answer: Done,
  refuses: ['invitation_not_found'],
  async handle({ account, params: { id = '' }, userId }) {
    await revokeInvitation(account.id, id, actorOf(userId))
    return { data: {} }
  },
})
