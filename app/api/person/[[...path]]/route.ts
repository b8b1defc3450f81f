import * as z from 'zod'
import { openAccount } from '#lib/accounts/create.ts'
import { joinAccount } from '#lib/accounts/join.ts'
import { admitPending } from '#lib/accounts/members.ts'
import { AccountOpened, accountRequest, Joined, joinRequest } from '#lib/accounts/schema.ts'
import { payWelcomeCharge } from '#lib/charges/simulate.ts'
import { refuse } from '#lib/core/errors.ts'
import { EmptyResponse } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { userEndpoint } from '#lib/http/endpoint.ts'
import { endpoints } from '#lib/http/routes.ts'
import {
  beginAuthenticator,
  confirmAuthenticator,
  removeAuthenticator,
  renewRecoveryCodes,
} from '#lib/people/factors.ts'
import { requestOpenidLink } from '#lib/people/openid.ts'
import {
  addPasskey,
  beginPasskeyAuthentication,
  beginPasskeyRegistration,
  removePasskey,
} from '#lib/people/passkeys.ts'
import { changePassword, hasPassword } from '#lib/people/password.ts'
import {
  AuthenticatorSecret,
  CodesRenewed,
  codeProof,
  Device,
  emailConfirmation,
  FactorAdded,
  factorProof,
  newPasskey,
  PasskeyOptions,
  ProofMethods,
  passwordChange,
  proofRequest,
} from '#lib/people/schema.ts'
import { endDevice, endOtherDevices, endViewing, listDevices } from '#lib/people/sessions.ts'
import { requireWithinLimit } from '#lib/people/throttle.ts'
import { confirmEmail, requestEmailLink } from '#lib/people/users.ts'
import {
  listProofMethods,
  requireProof,
  verifyFactorProof,
  verifyProof,
} from '#lib/session/proof.ts'

export const { GET, POST, DELETE } = endpoints({
  'POST /person/accounts': userEndpoint({
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
  }),
  'POST /person/authenticator': userEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Start to set up an authenticator app and show its secret once',
    response: AuthenticatorSecret,
    errorCodes: ['limit_reached'],
    proof: 'required',
    async handle({ user }) {
      return { data: await beginAuthenticator(user) }
    },
  }),
  'DELETE /person/authenticator': userEndpoint({
    method: 'DELETE',
    effect: 'none',
    summary: 'Remove the authenticator app',
    response: EmptyResponse,
    errorCodes: ['factor_not_found'],
    proof: 'required',
    async handle({ user }) {
      await removeAuthenticator(user)
      return { data: {} }
    },
  }),
  'POST /person/authenticator/confirm': userEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Activate an authenticator app with its first code',
    body: codeProof,
    response: FactorAdded,
    proof: 'required',
    async handle({ user, body }) {
      return { data: { recovery_codes: await confirmAuthenticator(user, body.code) } }
    },
  }),
  'POST /person/email': userEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Mail a link that proves the e-mail address of the signed-in user',
    response: EmptyResponse,
    errorCodes: ['too_many_requests'],
    proof: { notRequired: 'The mail goes to the address of this user only.' },
    async handle({ user }) {
      await requestEmailLink(user)
      return { data: {} }
    },
  }),
  'POST /person/email/confirm': userEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Prove the e-mail address of the signed-in user with the mailed link',
    body: emailConfirmation,
    response: EmptyResponse,
    errorCodes: ['link_expired'],
    proof: { notRequired: 'It adds access for this user only, with a secret from their mailbox.' },
    async handle({ user, body }) {
      await confirmEmail(user, body.secret, admitPending)
      return { data: {} }
    },
  }),
  'POST /person/join': userEndpoint({
    method: 'POST',
    effect: 'joining',
    summary: 'Accept an invitation as the signed-in user',
    body: joinRequest,
    response: Joined,
    errorCodes: ['invitation_ended', 'email_unverified', 'other_person', 'account_not_active'],
    proof: {
      notRequired:
        'It adds access for this user only, with the secret of an invitation to their e-mail.',
    },
    async handle({ user, body }) {
      const { id, role } = await joinAccount(body.secret, user)
      return { data: { account_id: id, role } }
    },
  }),
  'POST /person/openid': userEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Allow this session to link the OpenID provider',
    response: EmptyResponse,
    errorCodes: ['email_unverified', 'proof_required'],
    proof: 'required',
    async handle({ user }) {
      await requestOpenidLink(user)
      return { data: {} }
    },
  }),
  'POST /person/passkeys': userEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Register a passkey',
    body: newPasskey,
    response: FactorAdded,
    proof: 'required',
    async handle({ user, body }) {
      return { data: { recovery_codes: await addPasskey(user, body) } }
    },
  }),
  'DELETE /person/passkeys/[id]': userEndpoint({
    method: 'DELETE',
    effect: 'none',
    summary: 'Remove a passkey',
    response: EmptyResponse,
    errorCodes: ['factor_not_found'],
    proof: 'required',
    async handle({ user, params: { id = '' } }) {
      if (!isUuid(id)) throw refuse('factor_not_found', { factor: 'Passkey' })
      await removePasskey(user, id)
      return { data: {} }
    },
  }),
  'POST /person/passkeys/options': userEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Read the options for creating a passkey',
    response: PasskeyOptions,
    errorCodes: ['limit_reached'],
    proof: 'required',
    async handle({ user, origin }) {
      return { data: await beginPasskeyRegistration(user, origin) }
    },
  }),
  'POST /person/password': userEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Change the password',
    body: passwordChange,
    response: z.object({ data: z.object({}) }),
    errorCodes: ['too_many_requests'],
    proof: {
      notRequired:
        'The request contains the current password; if it is not enough, `handle` requires a proof.',
    },
    async handle({ user, body, rememberDevice }) {
      // Requires a recent proof, unless the current password (checked by changePassword) is the only
      // factor. OpenID users may have no password.
      if (user.hasSecondFactor || !(await hasPassword(user.id))) requireProof(user, null)
      await changePassword(user, body)
      rememberDevice(user.id)
      return { data: {} }
    },
  }),
  'GET /person/proof': userEndpoint({
    method: 'GET',
    summary: 'List the methods for confirming the identity',
    response: ProofMethods,
    async handle({ user }) {
      return { data: { methods: await listProofMethods(user.id) } }
    },
  }),
  'POST /person/proof': userEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Confirm the identity before a sensitive action',
    body: proofRequest,
    response: EmptyResponse,
    proof: { notRequired: 'This request is the proof.' },
    async handle({ user, body }) {
      await verifyProof(user, body)
      return { data: {} }
    },
  }),
  'POST /person/proof/passkey': userEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Read the options for confirming the identity with a passkey',
    response: PasskeyOptions,
    proof: { notRequired: 'This request begins a proof.' },
    async handle({ user, origin }) {
      return { data: await beginPasskeyAuthentication(origin, user.id) }
    },
  }),
  'POST /person/recovery-codes': userEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Replace the recovery codes, confirmed with a second factor',
    body: factorProof,
    response: CodesRenewed,
    proof: {
      notRequired:
        'The request contains a second factor. An earlier proof is not enough: the codes can replace that factor.',
    },
    async handle({ user, body }) {
      await verifyFactorProof(user, body)
      return { data: { recovery_codes: await renewRecoveryCodes(user) } }
    },
  }),
  'GET /person/sessions': userEndpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'List the sessions of the signed-in user',
    response: z.object({ data: z.array(Device) }),
    async handle({ user }) {
      return { data: await listDevices(user) }
    },
  }),
  'DELETE /person/sessions': userEndpoint({
    method: 'DELETE',
    effect: 'none',
    summary: 'Sign out all other devices',
    response: z.object({ data: z.object({ ended: z.number() }) }),
    proof: {
      notRequired: 'It only ends access: a user with a lost device must be able to act at once.',
    },
    async handle({ user, rememberDevice }) {
      const ended = await endOtherDevices(user)
      rememberDevice(user.id)
      return { data: { ended } }
    },
  }),
  'DELETE /person/sessions/[id]': userEndpoint({
    method: 'DELETE',
    effect: 'none',
    summary: 'Sign out one device',
    response: z.object({ data: z.object({}) }),
    errorCodes: ['session_not_found'],
    proof: {
      notRequired: 'It only ends access: a user with a lost device must be able to act at once.',
    },
    async handle({ user, params }) {
      await endDevice(user, params.id ?? '')
      return { data: {} }
    },
  }),
  'DELETE /person/viewing': userEndpoint({
    method: 'DELETE',
    effect: 'none',
    summary: 'End the viewing of an account',
    response: EmptyResponse,
    proof: { notRequired: 'It only takes access to an account away.' },
    async handle({ user }) {
      await endViewing({ userId: user.id, sessionId: user.sessionId })
      return { data: {} }
    },
  }),
})
