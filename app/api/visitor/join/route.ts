import { joinAsNewUser } from '#lib/accounts/join.ts'
import { JoinedAsNew, newcomerRequest } from '#lib/accounts/schema.ts'
import { payWelcomeCharge } from '#lib/charges/simulate.ts'
import { log } from '#lib/core/log.ts'
import { visitorEndpoint } from '#lib/http/endpoint.ts'
import { requireWithinLimit } from '#lib/people/throttle.ts'

export const POST = visitorEndpoint({
  effect: 'joining',
  summary: 'Accept an invitation as a new user, with its mailed link',
  body: newcomerRequest,
  response: JoinedAsNew,
  errorCodes: [
    'invitation_ended',
    'email_unverified',
    'sign_up_closed',
    'account_not_active',
    'too_many_requests',
  ],
  async handle({ body, ip }) {
    await requireWithinLimit([['sign_up', ip]])
    const { id, role, email, opened } = await joinAsNewUser(body)
    if (opened) {
      await payWelcomeCharge(opened).catch(err =>
        log().error({ err, accountId: id }, 'paying the welcome charge failed'),
      )
    }
    return { data: { account_id: id, role, email } }
  },
})
