import { confirmSignUp } from '#lib/accounts/create.ts'
import { SignedUp, signUpConfirmation } from '#lib/accounts/schema.ts'
import { payWelcomeCharge } from '#lib/charges/simulate.ts'
import { log } from '#lib/core/log.ts'
import { visitorEndpoint } from '#lib/http/endpoint.ts'
import { requireWithinLimit } from '#lib/people/throttle.ts'

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
