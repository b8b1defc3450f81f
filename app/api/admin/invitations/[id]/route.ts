import { revokeInvitation } from '#lib/accounts/revoke.ts'
import { Done } from '#lib/accounts/wire.ts'
import { actorOf } from '#lib/audit/note.ts'
import { adminDoor } from '#lib/http/door.ts'

export const DELETE = adminDoor({
  summary: "Take one of the operator's invitations back",
  answer: Done,
  refuses: ['invitation_not_found'],
  takesProof: true,
  async handle({ user, params: { id = '' } }) {
    await revokeInvitation(null, id, actorOf(user.id))
    return { data: {} }
  },
})
