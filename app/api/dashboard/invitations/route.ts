import { inviteMember } from '#lib/accounts/invitations.ts'
import { InvitationCreated, invitationRequest } from '#lib/accounts/schema.ts'
import { requireActor } from '#lib/audit/record.ts'
import { env } from '#lib/core/settings.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { isMailServerSet } from '#lib/mail/queue.ts'

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
