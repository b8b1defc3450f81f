import { redirect } from 'next/navigation'
import { currentUser, firstPage } from '#lib/session/gate.ts'

export default async function FirstPage() {
  redirect(firstPage(await currentUser()))
}
