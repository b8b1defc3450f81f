import { leaveAccount } from '#lib/accounts/remove.ts'
import { Done } from '#lib/accounts/wire.ts'
import { actorOf } from '#lib/audit/note.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const POST = endpoint({
  summary: 'Leave the account',
  allow: 'members:leave',
  takesProof: true,
  answer: Done,
  refuses: ['last_owner'],
  once: { keptS: 86_400 },
  async handle({ account, userId }) {
    await leaveAccount(account.id, actorOf(userId))
    return { data: {} }
  },
})
