import { setupError } from '#lib/core/errors.ts'
import { keyId } from '#lib/core/keys.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'

/**
 * Throws unless TROCO_SECRET is the one that this database depends on: with another one no token, password
 * or session is accepted. The first process stores its fingerprint, and so does the first one that names
 * the stored secret as TROCO_SECRET_BEFORE.
 */
export async function requireServerSecret(): Promise<void> {
  const { TROCO_SECRET, TROCO_SECRET_BEFORE: before } = env()
  if (!TROCO_SECRET) return
  const current = keyId()
  const accepted = before ? [current, keyId(before)] : [current]
  // Written only if it differs: most commands change nothing, and a role may only read.
  const [stored] = await db().$queryRaw<{ key_id: string }[]>`SELECT key_id FROM server_secrets`
  if (stored?.key_id === current) return
  if (stored && !accepted.includes(stored.key_id)) throw otherSecretError(stored.key_id, current)
  const [row] = await db().$queryRaw<{ key_id: string }[]>`
    INSERT INTO server_secrets AS s (key_id) VALUES (${current})
    ON CONFLICT (is_current) DO UPDATE SET key_id = excluded.key_id, set_at = now()
      WHERE s.key_id = ANY (${accepted})
    RETURNING key_id`
  if (!row) return requireServerSecret()
}

/** Makes TROCO_SECRET the secret of this database, whatever it was; returns its fingerprint. */
export async function replaceServerSecret(): Promise<string> {
  await db().$executeRaw`
    INSERT INTO server_secrets (key_id) VALUES (${keyId()})
    ON CONFLICT (is_current) DO UPDATE SET key_id = excluded.key_id, set_at = now()`
  return keyId()
}

function otherSecretError(stored: string, current: string) {
  return setupError(
    `TROCO_SECRET has the fingerprint ${current}, but this database uses the one with ${stored}: set that one again. To change it, set TROCO_SECRET_BEFORE to it beside the new TROCO_SECRET. If it is lost, run \`npm run -s troco -- secret replace\`: no token, authenticator app, webhook secret or bank credential from before works then`,
  )
}
