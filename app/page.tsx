import { redirect } from 'next/navigation'
import { landingPath } from '#lib/session/gate.ts'
import { currentUser } from '#lib/session/preferences.ts'

export default async function FirstPage() {
  redirect(landingPath(await currentUser()))
}
