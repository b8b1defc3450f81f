import { redirect } from 'next/navigation'
import { currentUser, landingPath } from '#lib/edge/session/gate.ts'

export default async function FirstPage() {
  redirect(landingPath(await currentUser()))
}
