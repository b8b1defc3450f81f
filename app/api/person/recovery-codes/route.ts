import { personDoor } from '#lib/edge/http/door.ts'
import { proveByFactor } from '#lib/services/people/prove.ts'
import { factorAnswer } from '#lib/services/people/schema.ts'
import { renewRecoveryCodes } from '#lib/services/people/second-factor.ts'
import { FactorAdded } from '#lib/services/people/wire.ts'

export const POST = personDoor({
  // An earlier proof is not accepted: these codes alone pass the second factor.
  summary: 'Replace the recovery codes, confirmed with a second factor',
  body: factorAnswer,
  answer: FactorAdded,
  async handle({ user, body }) {
    await proveByFactor(user, body)
    return { data: { recovery_codes: await renewRecoveryCodes(user) } }
  },
})
