import type { NextRequest } from 'next/server'
import NextAuth from 'next-auth'
import { authOptions } from '#lib/session/options.ts'

interface Context {
  params: Promise<{ nextauth: string[] }>
}

async function answer(request: NextRequest, context: Context): Promise<Response> {
  // next-auth would let anybody write into our log through this one.
  const { nextauth } = await context.params
  if (nextauth[0] === '_log') return new Response(null, { status: 404 })
  return NextAuth(request, context, authOptions())
}

export { answer as GET, answer as POST }
