import { requireActor } from '#lib/base/audit/note.ts'
import { env } from '#lib/base/env.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { inviteMember } from '#lib/rooms/accounts/invite.ts'
import { invitationRequest } from '#lib/rooms/accounts/schema.ts'
import { InvitationCreated } from '#lib/rooms/accounts/wire.ts'
import { isMailServerSet } from '#lib/services/mail/queue.ts'

export const POST = endpoint({
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
})

function toResponse(id: string, link: string | null) {
  return { data: { id, link, is_mailed: isMailServerSet() } }
}
