import type { NextRequest } from 'next/server'
import NextAuth from 'next-auth'
import { THROTTLED, UNAVAILABLE } from '#lib/session/authenticate.ts'
import { authOptions } from '#lib/session/options.ts'
import type { Told } from '#lib/session/second-step.ts'

interface Context {
  params: Promise<{ nextauth: string[] }>
}

async function answer(request: NextRequest, context: Context): Promise<Response> {
  // next-auth would let anybody write into our log through this one.
  const { nextauth } = await context.params
  if (nextauth[0] === '_log') return new Response(null, { status: 404 })
  const told: Told = {}
  const said: Response = await NextAuth(request, context, authOptions(told))
  if (told.step ?? told.refusal) return refuse(told.step ?? { error: told.refusal })
  if (said.status !== 401) return said
  const text = await said.text()
  const waitS = text.match(`error=${THROTTLED}(\\d+)`)?.[1]
  if (waitS) said.headers.set('retry-after', waitS)
  const status = waitS ? 429 : text.includes(`error=${UNAVAILABLE}`) ? 503 : 401
  return new Response(text, { status, headers: said.headers })
}

function refuse(body: object): Response {
  return Response.json(body, { status: 401, headers: { 'cache-control': 'private, no-store' } })
}

export { answer as GET, answer as POST }
