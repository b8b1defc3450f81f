import { reasoned } from '#lib/admin/schema.ts'
import { actorOf } from '#lib/audit/note.ts'
import { revealDocument } from '#lib/charges/reveal.ts'
import { DocumentShown } from '#lib/charges/wire.ts'
import { adminDoor } from '#lib/http/door.ts'

export const POST = adminDoor({
  summary: 'Show a payer’s document, which the account reads in its audit log',
  body: reasoned,
  answer: DocumentShown,
  refuses: ['transaction_not_found'],
  takesProof: true,
  async handle({ user, body, params: { id: accountId = '', charge_id: id = '' } }) {
    const document = await revealDocument({ accountId, id }, actorOf(user.id), body.reason)
    return { data: { document } }
  },
})
