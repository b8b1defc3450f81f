import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { TokenForm } from '#app/[mode]/settings/tokens/new/token-form.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { env } from '#lib/core/settings.ts'
import { requirePermission } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('tokens'))('new.title') }
}

export default async function NewTokenPage({ params }: { params: Promise<{ mode: string }> }) {
  const { mode } = await requirePermission(params, 'settings/tokens/new')
  const t = await getTranslations('tokens')
  return (
    <>
      <PageHead
        title={t('new.title')}
        parent={{ href: `/${mode}/settings/tokens`, label: t('title') }}
      />
      <ClientMessages namespaces={['tokens']}>
        <TokenForm origin={env().PUBLIC_URL} />
      </ClientMessages>
    </>
  )
}
