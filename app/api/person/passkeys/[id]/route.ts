import { refuse } from '#lib/base/errors.ts'
import { isUuid } from '#lib/base/ids.ts'
import { personDoor } from '#lib/edge/http/door.ts'
import { removePasskey } from '#lib/services/people/passkeys.ts'
import { Done } from '#lib/services/people/wire.ts'

export const DELETE = personDoor({
  summary: 'Remove a passkey',
  answer: Done,
  refuses: ['factor_not_found'],
  takesProof: true,
  async handle({ user, params: { id = '' } }) {
    if (!isUuid(id)) throw refuse('factor_not_found', { factor: 'Passkey' })
    await removePasskey(user, id)
    return { data: {} }
  },
})
