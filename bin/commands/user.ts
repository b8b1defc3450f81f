import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import { env } from '#lib/core/settings.ts'
import { createResetLink } from '#lib/people/change-password.ts'
import { unlinkOpenid } from '#lib/people/openid.ts'
import { hashPassword, makePassword } from '#lib/people/password.ts'
import { registerUser } from '#lib/people/users.ts'

/** Prints the id to standard output and the password, shown only once, to standard error. */
export async function create(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { email: { type: 'string' }, name: { type: 'string' }, admin: { type: 'boolean' } },
  })
  const email = requireOption(values.email, '--email')
  const password = makePassword()
  const passwordHash = await hashPassword(password)
  await withRuntime(async () => {
    const registration = { email, name: values.name, passwordHash, isAdmin: values.admin ?? false }
    const user = await registerUser(registration, { type: 'command_line' })
    process.stderr.write(`Password, shown only once: ${password}\n`)
    process.stdout.write(`${user.id}\n`)
  })
}

/** Prints a password link, for users who cannot receive mail. Valid once, for one hour. */
export async function reset(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { email: { type: 'string' } } })
  const email = requireOption(values.email, '--email')
  await withRuntime(async () => {
    const path = await createResetLink(email, { type: 'command_line' })
    process.stdout.write(`${env().PUBLIC_URL}${path}\n`)
  })
}

/** Disconnects the OpenID provider. Prints the user's id, and to standard error what follows. */
export async function disconnect(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { email: { type: 'string' } } })
  const email = requireOption(values.email, '--email')
  await withRuntime(async () => {
    const { id, hasPassword } = await unlinkOpenid(email, { type: 'command_line' })
    const next = hasPassword
      ? 'The user now signs in with the password.'
      : 'The user has no password: the sign-in page mails a link for one, `user reset` prints one.'
    process.stderr.write(`All sessions have ended. ${next}\n`)
    process.stdout.write(`${id}\n`)
  })
}
