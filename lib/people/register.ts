import { type Actor, personOf, recordAudit } from '#lib/audit/record.ts'
import { invalidInput } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import { type EmailProof, verifiedColumns } from '#lib/people/prove-email.ts'
import { requireEmail, type User } from '#lib/people/schema.ts'

interface NewUser {
  id?: string
  email: string
  name?: string
  passwordHash: string
  isAdmin: boolean
  /** How the address was proven; absent if it is not. */
  verifiedBy?: EmailProof
}

export function registerUser(newUser: NewUser, actor: Actor): Promise<User> {
  return transaction(tx => addUser(tx, newUser, actor))
}

/** Registers a user within the caller's transaction. Fails if the e-mail is taken. */
export async function addUser(tx: Tx, newUser: NewUser, actor: Actor): Promise<User> {
  const email = requireEmail(newUser.email)
  const { id = newId(), name = '', verifiedBy, ...columns } = newUser
  const proof = verifiedBy && verifiedColumns(verifiedBy)
  const data = {
    ...{ ...columns, ...proof, id, email, name: name.trim() || email },
    ...(newUser.isAdmin && { adminSince: new Date(), adminBy: personOf(actor) }),
  }
  const { count } = await tx.user.createMany({ data, skipDuplicates: true })
  if (count === 0) throw invalidInput('email', 'already belongs to another user')
  const after = { admin: newUser.isAdmin }
  await recordAudit(tx, { actor, action: 'user.created', target: id, after })
  return { id }
}

/** Registers a user if the e-mail is unknown. Changes no existing user. */
export async function findOrRegister(
  tx: Tx,
  newUser: { email: string; passwordHash?: string },
): Promise<User & { isNew: boolean }> {
  const email = requireEmail(newUser.email)
  const data = { id: newId(), email, name: email, passwordHash: newUser.passwordHash }
  // Not upsert, which reads first: two concurrent calls would both insert.
  const { count } = await tx.user.createMany({ data, skipDuplicates: true })
  const user = await tx.user.findUniqueOrThrow({ where: { email } })
  return { id: user.id, isNew: count === 1 }
}
