import * as z from 'zod'
import { confirmSignUp, requestSignUp } from '#lib/accounts/create.ts'
import { mailInvitation } from '#lib/accounts/invitations.ts'
import { joinAsNewUser } from '#lib/accounts/join.ts'
import { admitPending } from '#lib/accounts/members.ts'
import {
  JoinedAsNew,
  joinRequest,
  newcomerRequest,
  SignedUp,
  signUpConfirmation,
  signUpRequest,
} from '#lib/accounts/schema.ts'
import { payWelcomeCharge } from '#lib/charges/simulate.ts'
import { log } from '#lib/core/log.ts'
import { visitorEndpoint } from '#lib/http/endpoint.ts'
import { endpoints } from '#lib/http/routes.ts'
import { readChallenge } from '#lib/people/factors.ts'
import { beginPasskeyAuthentication } from '#lib/people/passkeys.ts'
import { confirmReset, requestReset } from '#lib/people/password.ts'
import {
  PasskeyOptions,
  passkeyOptionsRequest,
  resetConfirmation,
  resetRequest,
} from '#lib/people/schema.ts'
import { requireWithinLimit } from '#lib/people/throttle.ts'

export const { POST } = endpoints({
  'POST /visitor/join': visitorEndpoint({
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
  }),
  'POST /visitor/join/mail': visitorEndpoint({
    effect: 'none',
    summary: 'Mail the link of an invitation to the invited e-mail again',
    body: joinRequest,
    response: z.object({ data: z.object({}) }),
    errorCodes: ['invitation_ended', 'too_many_requests'],
    async handle({ body, ip }) {
      await requireWithinLimit([['sign_up', ip]])
      await mailInvitation(body.secret)
      return { data: {} }
    },
  }),
  'POST /visitor/passkey': visitorEndpoint({
    effect: 'none',
    summary: 'Read the options for signing in with a passkey',
    body: passkeyOptionsRequest,
    response: PasskeyOptions,
    async handle({ body, origin }) {
      const { challenge } = body
      const stored = challenge ? await readChallenge('second_factor', challenge) : null
      return { data: await beginPasskeyAuthentication(origin, stored?.userId ?? null) }
    },
  }),
  'POST /visitor/reset': visitorEndpoint({
    effect: 'none',
    summary: 'Request a password reset link',
    body: resetRequest,
    response: z.object({ data: z.object({}) }),
    errorCodes: ['too_many_requests'],
    async handle({ body, ip }) {
      await requestReset(body.email, ip)
      return { data: {} }
    },
  }),
  'POST /visitor/reset/confirm': visitorEndpoint({
    effect: 'none',
    summary: 'Set a new password with a reset link',
    body: resetConfirmation,
    response: z.object({ data: z.object({}) }),
    errorCodes: ['link_expired'],
    async handle({ body, rememberDevice }) {
      // The mailed link proves the user: others who guess passwords must not lock them out again.
      rememberDevice(await confirmReset(body, admitPending))
      return { data: {} }
    },
  }),
  'POST /visitor/signup': visitorEndpoint({
    effect: 'none',
    summary: 'Request a link that opens an account for a new user',
    body: signUpRequest,
    response: z.object({ data: z.object({}) }),
    errorCodes: ['sign_up_closed', 'too_many_requests'],
    async handle({ body, ip }) {
      await requireWithinLimit([['sign_up', ip]])
      await requestSignUp(body)
      return { data: {} }
    },
  }),
  'POST /visitor/signup/confirm': visitorEndpoint({
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
  }),
})
