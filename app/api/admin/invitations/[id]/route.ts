import { requireActor } from '#lib/base/audit/note.ts'
import { adminDoor } from '#lib/edge/http/door.ts'
import { revokeInvitation } from '#lib/rooms/accounts/revoke.ts'
import { Done } from '#lib/rooms/accounts/wire.ts'

export const DELETE = adminDoor({
  summary: "Revoke an operator's invitation",
  answer: Done,
  refuses: ['invitation_not_found'],
  takesProof: true,
  async handle({ user, params: { id = '' } }) {
    await revokeInvitation(null, id, requireActor(user.id))
    return { data: {} }
  },
})
