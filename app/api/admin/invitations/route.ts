import { inviteMerchant } from '#lib/accounts/invitations.ts'
import { listInvitations } from '#lib/accounts/queries.ts'
import { InvitationList, MerchantInvited, openingRequest } from '#lib/accounts/schema.ts'
import { requireActor } from '#lib/audit/record.ts'
import { env } from '#lib/core/settings.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { isMailServerSet } from '#lib/mail/queue.ts'

export const GET = adminEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: "List the administrator's invitations",
  response: InvitationList,
  async handle() {
    return { data: await listInvitations(null) }
  },
})

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Invite a merchant to open an account and show the link once',
  body: openingRequest,
  response: MerchantInvited,
  errorCodes: ['sign_up_closed'],
  proof: 'required',
  async handle({ user, body }) {
    const { id, path } = await inviteMerchant(body.email, requireActor(user.id))
    return { data: { id, link: env().PUBLIC_URL + path, is_mailed: isMailServerSet() } }
  },
})
