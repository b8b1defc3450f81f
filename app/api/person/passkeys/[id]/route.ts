import { TrocoError } from '#lib/errors.ts'
import { personDoor } from '#lib/http/door.ts'
import { isUuid } from '#lib/ids.ts'
import { removePasskey } from '#lib/people/passkeys.ts'
import { Done } from '#lib/people/wire.ts'

export const DELETE = personDoor({
  summary: 'Remove a passkey',
  answer: Done,
  refuses: ['factor_not_found'],
  takesProof: true,
  async handle({ user, params: { id = '' } }) {
    if (!isUuid(id)) throw new TrocoError('factor_not_found', 'Passkey not found')
    await removePasskey(user, id)
    return { data: {} }
  },
})
