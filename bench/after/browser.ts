const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Signs in as a browser does and keeps its cookies. */
export class Browser {
  readonly #cookies = new Map<string, string>()
  readonly #server: string
  readonly #origin: string
  #csrfToken = ''

  constructor(port: number, origin: string) {
    this.#server = `http://127.0.0.1:${port}`
    this.#origin = origin
  }

  /** Returns what a form on the sign-in page sends beside its fields. */
  async open(): Promise<{ cookie: string; csrfToken: string }> {
    const response = await this.#fetch('/api/auth/csrf')
    const { csrfToken } = (await response.json()) as { csrfToken: string }
    this.#csrfToken = csrfToken
    return { cookie: this.#cookieHeader(), csrfToken }
  }

  /** Returns how long the response took, in ms. */
  async signIn(email: string, password: string): Promise<number> {
    const form = { csrfToken: this.#csrfToken, email, password, json: 'true' }
    const began = performance.now()
    const response = await this.#fetch('/api/auth/callback/credentials', form)
    const text = await response.text()
    if (response.status !== 200) throw new Error(`Sign-in: ${response.status} ${text}`)
    return performance.now() - began
  }

  async #fetch(path: string, form?: Record<string, string>): Promise<Response> {
    const headers = { origin: this.#origin, cookie: this.#cookieHeader() }
    const response = await fetch(this.#server + path, {
      ...(form ? { method: 'POST', body: new URLSearchParams(form).toString() } : {}),
      headers: form ? { ...headers, 'content-type': FORM_TYPE } : headers,
      redirect: 'manual',
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const end = pair.indexOf('=')
      this.#cookies.set(pair.slice(0, end), pair.slice(end + 1))
    }
    return response
  }

  #cookieHeader(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }
}
