// ASCII only: a look-alike of a registered e-mail must not become a second user.
const EMAIL = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/

const TYPED_EMAIL_MAX = 1_024
const ASCII_SPACES_AROUND = /^[ \t\n\v\f\r]+|(?<![ \t\n\v\f\r])[ \t\n\v\f\r]+$/g

/** Trims and lower-cases in ASCII only, as the database's `users_email_ascii` requires. */
export function normalizeEmail(text: string): string | null {
  if (text.length > TYPED_EMAIL_MAX) return null
  const email = lowerAscii(text.replace(ASCII_SPACES_AROUND, ''))
  return email.length <= 254 && EMAIL.test(email) ? email : null
}

/** Lower-cases A to Z only: other foldings can turn two different texts into one. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, letter => letter.toLowerCase())
}
