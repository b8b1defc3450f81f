import { useEffect, useState } from 'react'
import { dropDraft } from '#components/form/control.ts'
import type { Factor } from '#lib/people/schema.ts'

/** Second factor that is still required after the correct password. */
export interface PendingSecondStep {
  challenge: string
  methods: Factor[]
}

// wrong: e-mail or password, or unknown passkey. wrong_code: another attempt is allowed.
// challenge_ended: expired or too many attempts. busy: too many sign-ins are being checked.
// cookies: none stored, or Troco at another origin.
export type SignInOutcome =
  | 'ok'
  | 'wrong'
  | 'wrong_code'
  | 'challenge_ended'
  | 'busy'
  | 'cookies'
  | 'failed'

/** Refusal after too many attempts. */
export interface SignInWait {
  waitS: number
}

/** Signs in; the server sets an HTTP-only cookie. Returns the second step if one is required. */
export async function sendSignIn(
  fields: Record<string, string>,
): Promise<SignInOutcome | SignInWait | PendingSecondStep> {
  try {
    // The server counts the second step and passkeys apart from passwords.
    const query = 'challenge' in fields ? '?step' : ''
    const response = await post(`/api/auth/callback/credentials${query}`, fields)
    const result = (await response.json()) as Partial<PendingSecondStep> & {
      error?: string
      url?: string
    }
    if (result.challenge) return { challenge: result.challenge, methods: result.methods ?? [] }
    if (result.error === 'wrong_code' || result.error === 'challenge_ended') return result.error
    if (response.status === 401) return 'wrong'
    if (response.status === 429) return readWait(response)
    if (response.status === 503 && response.headers.has('retry-after')) return 'busy'
    // The request was refused as cross-origin; the `cookies` message names the address to use.
    if (response.status === 403) return 'cookies'
    if (!response.ok) return 'failed'
    return result.url?.includes('csrf=true') ? 'cookies' : 'ok'
  } catch {
    return 'failed'
  }
}

/** Signs in with a passkey. Returns null if the user cancels. */
export async function signInWithPasskey(
  step: PendingSecondStep | null,
): Promise<SignInOutcome | SignInWait | PendingSecondStep | null> {
  try {
    const body = JSON.stringify(step ? { challenge: step.challenge } : {})
    const headers = { 'content-type': 'application/json' }
    const response = await fetch('/api/visitor/passkey', { method: 'POST', headers, body })
    if (!response.ok) return response.status === 429 ? readWait(response) : 'failed'
    const { requestPasskey } = await import('#components/proof/passkey-calls.ts')
    const proof = await requestPasskey((await response.json()).data)
    if (!proof) return null
    const { challenge, passkey } = proof
    const outcome = await sendSignIn({ challenge, passkey: JSON.stringify(passkey) })
    return outcome === 'challenge_ended' ? 'wrong' : outcome
  } catch {
    return 'failed'
  }
}

/**
 * Returns the provider's sign-in URL; null if the provider is unreachable. For a proof of identity,
 * the provider asks for credentials even if it still knows the browser, and returns when (`auth_time`).
 */
export async function fetchProviderUrl(
  provider: string,
  next: string,
  isProof = false,
): Promise<string | null> {
  try {
    const query = isProof ? '?prompt=login&max_age=0' : ''
    const response = await post(`/api/auth/signin/${provider}${query}`, { callbackUrl: next })
    const { url } = (await response.json()) as { url?: string }
    return response.ok && url && !/^\/|[?&]error=/.test(url) ? url : null
  } catch {
    return null
  }
}

export async function signOut(): Promise<boolean> {
  dropDraft()
  try {
    return (await post('/api/auth/signout', {})).ok
  } catch {
    return false
  }
}

function readWait(response: Response): SignInWait {
  return { waitS: Number(response.headers.get('retry-after') ?? 60) }
}

async function post(path: string, fields: Record<string, string>): Promise<Response> {
  const csrf = await fetch('/api/auth/csrf')
  if (!csrf.ok) return csrf
  const { csrfToken } = (await csrf.json()) as { csrfToken: string }
  const body = new URLSearchParams({ ...fields, csrfToken, json: 'true' })
  return fetch(path, { method: 'POST', body })
}

/** Whether passkeys work here (they require a host name, not an IP); null until known. */
export function usePasskeySupport(): boolean | null {
  const [isSupported, setSupported] = useState<boolean | null>(null)
  useEffect(() => {
    const isAddress = /^[\d.]+$|^\[/.test(location.hostname)
    setSupported(typeof PublicKeyCredential === 'function' && !isAddress)
  }, [])
  return isSupported
}
