import * as z from 'zod'
import { ACCOUNT_STATUSES, Invitation, Member, ROLES } from '#lib/accounts/schema.ts'
import { openApiMeta } from '#lib/core/fields.ts'

export const AccountRead = z
  .object({
    name: z.string().meta(openApiMeta('Name of the account.', 'Loja Aurora')),
    balance: z.int().meta(openApiMeta("Available balance in the token's mode, in cents.", 1840217)),
  })
  .meta({ id: 'Account' })

export const AccountSettings = z.object({
  data: z.object({
    id: z.uuid(),
    name: z.string(),
    city: z.string(),
    expires_in: z.int(),
    time_zone: z.string(),
    charge_review_above: z.int().nullable(),
    repeats_external_ids: z.boolean(),
  }),
})

export const MemberList = z.object({
  data: z.object({ members: z.array(Member), invitations: z.array(Invitation) }),
})
export const InvitationList = z.object({ data: z.array(Invitation) })

/** `link` is returned only once: null in the response to a repeated request. */
export const InvitationCreated = z.object({
  data: z.object({
    id: z.uuid(),
    link: z.string().nullable(),
    /** Whether a mail server is configured to send the invitation. */
    is_mailed: z.boolean(),
  }),
})

export const EmptyResponse = z.object({ data: z.object({}) })

export const Joined = z.object({ data: z.object({ account_id: z.uuid(), role: z.enum(ROLES) }) })
export const JoinedAsNew = z.object({ data: Joined.shape.data.extend({ email: z.string() }) })

export const AccountOpened = z.object({
  data: z.object({ account_id: z.uuid(), status: z.enum(ACCOUNT_STATUSES) }),
})
export const SignedUp = z.object({
  data: AccountOpened.shape.data.extend({ email: z.string() }),
})
