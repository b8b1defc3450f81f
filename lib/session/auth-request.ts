import type { NextRequest } from 'next/server'
import { env } from '#lib/core/settings.ts'
import { cookieNames } from '#lib/session/cookie.ts'

/** Returns the response to a request on which next-auth would fail; null if it may proceed. */
export function refuseAuthRequest(request: NextRequest, segments: string[]): Response | null {
  const [action, provider] = segments
  // next-auth lets anyone write to the server's log through this route, and throws on some texts.
  if (action === '_log') return new Response(null, { status: 404 })
  // It responds 500 to a password sign-in by GET, and to a callback URL that is not a URL.
  if (action === 'callback' && provider === 'credentials' && request.method === 'GET')
    return new Response(null, { status: 405, headers: { allow: 'POST' } })
  const callbackUrls = [
    ...request.nextUrl.searchParams.getAll('callbackUrl'),
    request.cookies.get(cookieNames().callback)?.value ?? '',
  ]
  if (callbackUrls.every(url => url === '' || isWebUrl(url))) return null
  return Response.json({ error: 'Malformed request' }, { status: 400 })
}

/** Returns the server's root for foreign URLs. next-auth's default callback throws on non-URLs. */
export function ownUrl(requested: unknown, baseUrl: string): string {
  const url = typeof requested === 'string' ? URL.parse(requested, baseUrl) : null
  return url?.origin === baseUrl ? url.href : baseUrl
}

function isWebUrl(text: string): boolean {
  const url = URL.parse(text, text.startsWith('/') ? env().PUBLIC_URL : undefined)
  return url !== null && /^https?:$/.test(url.protocol)
}
