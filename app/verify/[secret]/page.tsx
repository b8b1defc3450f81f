import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { ConfirmButton } from '#app/verify/verify-forms.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { VisitorPage } from '#components/ui/visitor-page.tsx'
import { requireSession } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  // The URL contains the secret, so it must not be sent as a referrer.
  return { title: (await getTranslations('verify'))('title'), referrer: 'no-referrer' }
}

/** Confirms on a click: programs that check mail for viruses open links too. */
export default async function ConfirmEmailPage({
  params,
}: {
  params: Promise<{ secret: string }>
}) {
  const { secret } = await params
  const [t, { email }] = await Promise.all([getTranslations('verify'), requireSession()])
  return (
    <VisitorPage title={t('title')} subtitle={t('subtitle', { email })}>
      <ClientMessages namespaces={['verify']}>
        <ConfirmButton secret={secret} />
      </ClientMessages>
    </VisitorPage>
  )
}
