import type { Factor } from '#lib/services/people/schema.ts'

/** What is still to be shown after the right password. */
export interface Step {
  challenge: string
  methods: Factor[]
}

/**
 * wrong: not this e-mail with this password, or not this passkey. wrong_code: it may be tried again.
 * challenge_ended: it took too long, or too many tries. cookies: the browser kept none of ours.
 */
export type SignInOutcome =
  | 'ok'
  | 'wrong'
  | 'wrong_code'
  | 'challenge_ended'
  | 'busy'
  | 'cookies'
  | 'failed'

/** Asks for a session: what the browser gets is a cookie that no script can read. Or for more. */
export async function signIn(fields: Record<string, string>): Promise<SignInOutcome | Step> {
  try {
    const answer = await post('/api/auth/callback/credentials', fields)
    const said = (await answer.json()) as Partial<Step> & { error?: string; url?: string }
    if (said.challenge) return { challenge: said.challenge, methods: said.methods ?? [] }
    if (said.error === 'wrong_code' || said.error === 'challenge_ended') return said.error
    if (answer.status === 401) return 'wrong'
    if (answer.status === 429) return 'busy'
    // Refused as another's page: what helps is our own address, which that problem names.
    if (answer.status === 403) return 'cookies'
    if (!answer.ok) return 'failed'
    return said.url?.includes('csrf=true') ? 'cookies' : 'ok'
  } catch {
    return 'failed'
  }
}

/** The same by a passkey; null when its owner would rather not. */
export async function signInByPasskey(step: Step | null): Promise<SignInOutcome | Step | null> {
  try {
    const body = JSON.stringify(step ? { challenge: step.challenge } : {})
    const headers = { 'content-type': 'application/json' }
    const asked = await fetch('/api/visitor/passkey', { method: 'POST', headers, body })
    if (!asked.ok) return asked.status === 429 ? 'busy' : 'failed'
    const { showPasskey } = await import('#components/proof/passkey-calls.ts')
    const proof = await showPasskey((await asked.json()).data)
    if (!proof) return null
    const { challenge, passkey } = proof
    const outcome = await signIn({ challenge, passkey: JSON.stringify(passkey) })
    return outcome === 'challenge_ended' ? 'wrong' : outcome
  } catch {
    return 'failed'
  }
}

/** Where the provider asks who one is; null where it could not be reached. */
export async function addressOfProvider(provider: string, next: string): Promise<string | null> {
  try {
    const answer = await post(`/api/auth/signin/${provider}`, { callbackUrl: next })
    const { url } = (await answer.json()) as { url?: string }
    return answer.ok && url && !/^\/|[?&]error=/.test(url) ? url : null
  } catch {
    return null
  }
}

/** Ends the session on the server too. */
export async function signOut(): Promise<boolean> {
  try {
    return (await post('/api/auth/signout', {})).ok
  } catch {
    return false
  }
}

async function post(path: string, fields: Record<string, string>): Promise<Response> {
  const { csrfToken } = (await (await fetch('/api/auth/csrf')).json()) as { csrfToken: string }
  const body = new URLSearchParams({ ...fields, csrfToken, json: 'true' })
  return fetch(path, { method: 'POST', body })
}
