/** wrong: not this e-mail with this password. cookies: the browser kept none of ours. */
export type SignInOutcome = 'ok' | 'wrong' | 'busy' | 'cookies' | 'failed'

/** Asks for a session. What the browser gets is a cookie that no script can read. */
export async function signIn(email: string, password: string): Promise<SignInOutcome> {
  try {
    const answer = await post('/api/auth/callback/credentials', { email, password })
    if (answer.status === 401) return 'wrong'
    if (answer.status === 429) return 'busy'
    if (!answer.ok) return 'failed'
    const { url } = (await answer.json()) as { url?: string }
    return url?.includes('csrf=true') ? 'cookies' : 'ok'
  } catch {
    return 'failed'
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
