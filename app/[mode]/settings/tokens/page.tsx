import { Lock, Plus } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { getTranslations } from 'next-intl/server'
import { SettingsTabs } from '#app/[mode]/settings/settings-tabs.tsx'
import { TokenRows } from '#app/[mode]/settings/tokens/token-list.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { tokenQueries } from '#components/queries/people.ts'
import { buttonClass } from '#components/ui/button-class.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { env } from '#lib/core/settings.ts'
import { hasPermission, hasPermissionNow } from '#lib/people/roles.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'
import { listTokens } from '#lib/tokens/queries.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('tokens'))('title') }
}

export default async function TokensPage({ params }: { params: Promise<{ mode: string }> }) {
  const { user, account, mode } = await requireMember(params)
  const [t, tokens] = await Promise.all([getTranslations('tokens'), listTokens(account.id, mode)])
  const canWrite = hasPermissionNow(account, 'tokens:write')
  return (
    <>
      <PageHead title={t('title')}>
        {canWrite ? (
          <Link
            href={`/${mode}/settings/tokens/new`}
            prefetch={false}
            className={buttonClass('primary')}
          >
            <Plus size={17} aria-hidden />
            {t('create')}
          </Link>
        ) : null}
      </PageHead>
      <SettingsTabs mode={mode} current="tokens" />
      <p className="mb-4 text-muted text-small">{t(`inMode.${mode}`)}</p>
      {hasPermission(account.role, 'tokens:write') ? null : (
        <div className="mb-4">
          <Notice tone="wait" icon={Lock}>
            {t('readOnly')}
          </Notice>
        </div>
      )}
      <ClientMessages namespaces={['tokens']}>
        <Prefetched
          seeds={[
            seed(tokenQueries.list(readerFor(mode, user, account)), hideFromViewer(user, tokens)),
          ]}
        >
          <TokenRows origin={env().PUBLIC_URL} />
        </Prefetched>
      </ClientMessages>
    </>
  )
}
