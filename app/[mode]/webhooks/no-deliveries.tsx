import { Webhook } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { IfMay } from '#components/nav/may.tsx'
import { useApi } from '#components/nav/world.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'

/** Nothing was sent to anybody yet: what a webhook is, and how the first one comes about. */
export function NoDeliveries({ hasEndpoint }: { hasEndpoint: boolean }) {
  const t = useTranslations('deliveries')
  const { world } = useApi()
  return (
    <Empty
      icon={Webhook}
      title={t('noneYet')}
      text={hasEndpoint ? t('noneYetWithEndpoint') : t('noneYetText')}
    >
      <IfMay do={hasEndpoint ? 'transactions:write' : 'webhooks:write'}>
        <Link
          href={`/${world.mode}/${hasEndpoint ? 'charges/new' : 'webhooks/endpoints/new'}`}
          prefetch={false}
          className={buttonClass('primary')}
        >
          {hasEndpoint ? t('newCharge') : t('newEndpoint')}
        </Link>
      </IfMay>
      <a href="/docs" className={buttonClass('quiet')}>
        {t('docs')}
      </a>
    </Empty>
  )
}
