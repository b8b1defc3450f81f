import { log } from '#lib/base/log.ts'
import { visitorEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { signUpConfirmation } from '#lib/rooms/accounts/schema.ts'
import { confirmSignUp } from '#lib/rooms/accounts/sign-up.ts'
import { SignedUp } from '#lib/rooms/accounts/wire.ts'
import { payWelcomeCharge } from '#lib/rooms/charges/welcome.ts'
import { requireWithinLimit } from '#lib/services/people/throttle.ts'

export const POST = visitorEndpoint({
  effect: 'none',
  summary: 'Open an account as a new user, with the link of the sign-up mail',
  body: signUpConfirmation,
  response: SignedUp,
  errorCodes: ['sign_up_closed', 'link_expired', 'too_many_requests'],
  async handle({ body, ip }) {
    await requireWithinLimit([['sign_up', ip]])
    const { email, ...account } = await confirmSignUp(body)
    // The account is complete without this charge, so a failure here must not fail the sign-up.
    await payWelcomeCharge(account).catch(err =>
      log().error({ err, accountId: account.id }, 'paying the welcome charge failed'),
    )
    return { data: { account_id: account.id, status: account.status, email } }
  },
})
