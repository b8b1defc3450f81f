import type { Metadata } from 'next'
import Link from 'next/link'
import { getTranslations } from 'next-intl/server'
import { MessagePage } from '#components/message-page.tsx'
import { buttonClass } from '#components/ui/button.tsx'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('notFound'))('title') }
}

export default async function NotFoundPage() {
  const t = await getTranslations('notFound')
  return (
    <MessagePage code="404" title={t('title')} text={t('text')}>
      <Link href="/" prefetch={false} className={buttonClass('primary')}>
        {t('home')}
      </Link>
    </MessagePage>
  )
}
