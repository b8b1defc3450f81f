import { redirect } from 'next/navigation'
import { currentUser, landingPath } from '#lib/session/gate.ts'

export default async function FirstPage() {
  redirect(landingPath(await currentUser()))
}
