import { createAccount, type OpenedAccount } from '#lib/accounts/create.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { verifiedColumns } from '#lib/people/users.ts'

/** Columns of a user who has proven the e-mail: only such users can be members. */
export const VERIFIED = verifiedColumns('operator')

/** Opens an account whose owner has proven the e-mail, and so is a member at once. */
export async function openAccountWithOwner(
  name: string,
  ownerEmail = `owner-${newId()}@troco.example`,
): Promise<OpenedAccount> {
  const owner = { id: newId(), email: ownerEmail, name: ownerEmail, ...VERIFIED }
  await db().user.createMany({ data: owner, skipDuplicates: true })
  return createAccount({ name, ownerEmail }, { type: 'system' })
}

/** Columns of an admin who may confirm what another admin proposed. */
export const SINCE_LONG = { adminSince: new Date(Date.now() - 30 * 86_400_000) }
