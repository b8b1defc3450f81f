import { openAccount } from '#lib/accounts/create.ts'
import { AccountOpened, accountRequest } from '#lib/accounts/schema.ts'
import { payWelcomeCharge } from '#lib/charges/simulate.ts'
import { log } from '#lib/core/log.ts'
import { userEndpoint } from '#lib/http/endpoint.ts'
import { requireWithinLimit } from '#lib/people/throttle.ts'

export const POST = userEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Open another account as the signed-in user',
  body: accountRequest,
  response: AccountOpened,
  errorCodes: [
    'sign_up_closed',
    'invitation_ended',
    'email_unverified',
    'other_person',
    'too_many_requests',
  ],
  proof: { notRequired: 'The new account is empty; existing accounts do not change.' },
  async handle({ user, body, ip }) {
    await requireWithinLimit([
      ['sign_up', ip],
      ['sign_up', user.id],
    ])
    const account = await openAccount(body, user)
    await payWelcomeCharge(account).catch(err =>
      log().error({ err, accountId: account.id }, 'paying the welcome charge failed'),
    )
    return { data: { account_id: account.id, status: account.status } }
  },
})
