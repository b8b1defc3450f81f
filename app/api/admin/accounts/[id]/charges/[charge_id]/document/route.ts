import { requireActor } from '#lib/base/audit/note.ts'
import { adminDoor } from '#lib/edge/http/door.ts'
import { revealDocument } from '#lib/rooms/charges/reveal.ts'
import { DocumentShown } from '#lib/rooms/charges/wire.ts'
import { reasoned } from '#lib/views/admin/schema.ts'

export const POST = adminDoor({
  summary: 'Reveal a payer’s document, recorded in the audit log of the account',
  body: reasoned,
  answer: DocumentShown,
  refuses: ['transaction_not_found'],
  takesProof: true,
  async handle({ user, body, params: { id: accountId = '', charge_id: id = '' } }) {
    const document = await revealDocument({ accountId, id }, requireActor(user.id), body.reason)
    return { data: { document } }
  },
})
