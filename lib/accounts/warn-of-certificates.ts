import { claimCertificateWarning, listEndingCertificates } from '#lib/banks/certificate-warnings.ts'
import { transaction } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { listAdmins } from '#lib/people/admins.ts'

/**
 * Mails all admins 30, 7 and 1 days before the client certificate of a connection ends. The transaction
 * that marks a warning queues its mails: a second run, or one after a crash, queues none twice. Returns
 * the number of warnings.
 */
export async function warnOfCertificates(now = Date.now()): Promise<number> {
  const ending = await listEndingCertificates(now)
  let count = 0
  for (const certificate of ending) {
    // One that has ended is no news, and the health page names it.
    if (certificate.endsAt.getTime() > now && (await warnOf(certificate))) count += 1
  }
  return count
}

function warnOf(certificate: Awaited<ReturnType<typeof listEndingCertificates>>[number]) {
  const { id, name: connection, endsAt: ends } = certificate
  return transaction(async tx => {
    if (!(await claimCertificateWarning(tx, certificate))) return false
    const path = `/admin/banks/${id}`
    for (const admin of await listAdmins(tx))
      await queueMail(tx, admin, { kind: 'certificateEnds', connection, ends, path })
    return true
  })
}
