import { personDoor } from '#lib/edge/http/door.ts'
import { beginAuthenticator, removeAuthenticator } from '#lib/services/people/authenticator.ts'
import { AuthenticatorSecret, Done } from '#lib/services/people/wire.ts'

export const POST = personDoor({
  summary: 'Start to set up an authenticator app and show its secret once',
  answer: AuthenticatorSecret,
  refuses: ['limit_reached'],
  takesProof: true,
  async handle({ user }) {
    return { data: await beginAuthenticator(user) }
  },
})

export const DELETE = personDoor({
  summary: 'Remove the authenticator app',
  answer: Done,
  refuses: ['factor_not_found'],
  takesProof: true,
  async handle({ user }) {
    await removeAuthenticator(user)
    return { data: {} }
  },
})
