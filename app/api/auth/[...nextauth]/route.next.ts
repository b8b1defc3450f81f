import type { NextRequest } from 'next/server'
import NextAuth from 'next-auth'
import { refuseCrossSite } from '#lib/http/route-handler.ts'
import { authOptions, refuseAuthRequest } from '#lib/session/options.ts'
import { failedSignInPath } from '#lib/session/schema.ts'
import type { SignInDetails } from '#lib/session/sign-in.ts'
import { signInFailureInit } from '#lib/session/sign-in.ts'

type Context = { params: Promise<{ nextauth: string[] }> }

async function respond(request: NextRequest, context: Context): Promise<Response> {
  const segments = (await context.params).nextauth
  const location = failedSignInPath(request.nextUrl?.searchParams.get('error'))
  if (segments[0] === 'error') return new Response(null, { status: 302, headers: { location } })
  const outcome: SignInDetails = {}
  const refused = refuseCrossSite(request) ?? refuseAuthRequest(request, segments)
  if (refused) return refused
  const response: Response = await NextAuth(request, context, authOptions(outcome))
  const body = outcome.step ?? (outcome.refusal && { error: outcome.refusal })
  if (body) return Response.json(body, { status: 401, headers: { 'cache-control': 'no-store' } })
  if (response.status !== 401) return response
  const text = await response.text()
  return new Response(text, signInFailureInit(text, response.headers))
}

export { respond as GET, respond as POST }
