import { endpoint } from '#lib/edge/http/endpoint.ts'
import { listInvitations, listMembers } from '#lib/rooms/accounts/people-queries.ts'
import { MemberList } from '#lib/rooms/accounts/wire.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List members and open invitations',
  allow: 'members:read',
  response: MemberList,
  async handle({ account: { id } }) {
    const [members, invitations] = await Promise.all([listMembers(id), listInvitations(id)])
    return { data: { members, invitations } }
  },
})
