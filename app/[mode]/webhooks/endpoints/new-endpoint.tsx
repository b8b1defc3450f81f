'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { useEffect, useRef } from 'react'
import { SecretValue } from '#app/[mode]/webhooks/endpoints/secret-value.tsx'
import { useApi } from '#components/nav/world.tsx'
import { buttonClass } from '#components/ui/button.tsx'

interface NewEndpointProps {
  id: string
  secret: string
}

/** The only time that an endpoint's secret is shown. */
export function NewEndpoint({ id, secret }: NewEndpointProps) {
  const t = useTranslations('endpoints')
  const { mode } = useApi().world
  const head = useRef<HTMLHeadingElement>(null)
  useEffect(() => head.current?.focus(), [])
  return (
    <div className="grid gap-4">
      <h2 ref={head} tabIndex={-1} className="text-title outline-none">
        {t('made')}
      </h2>
      <p className="max-w-[62ch] text-muted">{t('madeText')}</p>
      <SecretValue secret={secret} />
      <div className="flex flex-wrap gap-2">
        <Link
          href={`/${mode}/webhooks/endpoints/${id}`}
          prefetch={false}
          className={buttonClass('primary')}
        >
          {t('goToEndpoint')}
        </Link>
      </div>
    </div>
  )
}
