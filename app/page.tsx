import { redirect } from 'next/navigation'
import { currentUser, firstPage } from '#lib/edge/session/gate.ts'

export default async function FirstPage() {
  redirect(firstPage(await currentUser()))
}
