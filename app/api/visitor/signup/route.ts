import { log } from '#lib/base/log.ts'
import { visitorEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { signUp } from '#lib/rooms/accounts/open.ts'
import { signUpRequest } from '#lib/rooms/accounts/schema.ts'
import { AccountOpened } from '#lib/rooms/accounts/wire.ts'
import { payWelcomeCharge } from '#lib/rooms/charges/welcome.ts'
import { requireWithinLimit } from '#lib/services/people/throttle.ts'

export const POST = visitorEndpoint({
  effect: 'none',
  summary: 'Open an account as a new user',
  body: signUpRequest,
  response: AccountOpened,
  errorCodes: ['sign_up_closed', 'invitation_ended', 'other_person', 'too_many_requests'],
  async handle({ body, ip }) {
    await requireWithinLimit([['sign_up', ip]])
    const account = await signUp(body)
    // The account is complete without this charge, so a failure here must not fail the sign-up.
    await payWelcomeCharge(account).catch(err =>
      log().error({ err, accountId: account.id }, 'paying the welcome charge failed'),
    )
    return { data: { account_id: account.id, status: account.status } }
  },
})
