import { listInvitations, listMembers } from '#lib/accounts/queries.ts'
import { MemberList } from '#lib/accounts/schema.ts'
import { endpoint } from '#lib/http/endpoint.ts'

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
