import type { Metadata } from 'next'
import Link from 'next/link'
import { getTranslations } from 'next-intl/server'
import { buttonClass } from '#components/ui/button-class.ts'
import { MessagePage } from '#components/ui/message-page.tsx'

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
