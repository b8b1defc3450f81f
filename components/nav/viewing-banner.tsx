'use client'

import { Eye } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useEffect } from 'react'
import { useAction } from '#components/form/action.ts'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { useTimeText } from '#components/format/exact-time.tsx'
import { Button } from '#components/ui/button.tsx'
import type { Viewing } from '#lib/session/schema.ts'

interface ViewingBannerProps {
  viewing: Viewing
  accountName: string
}

/** Tells staff on each page that they view an account, until when, and ends it. */
export function ViewingBanner({ viewing: { accountId, until }, accountName }: ViewingBannerProps) {
  const t = useTranslations('viewing')
  const api = useApi()
  const timeText = useTimeText()
  // Full page load: the cached data of this page belongs to the viewed account.
  const leave = () => location.assign(`/admin/accounts/${accountId}`)
  const { run, failure, isBusy } = useAction(async () => {
    await api.send('DELETE', '/person/viewing')
    leave()
  })
  useEffect(() => {
    const timer = setTimeout(
      () => location.assign(`/admin/accounts/${accountId}`),
      Date.parse(until) - Date.now(),
    )
    return () => clearTimeout(timer)
  }, [accountId, until])
  return (
    <section
      aria-label={t('begin')}
      data-stays="top"
      className="sticky top-0 z-30 -mx-4 mb-5 grid grid-cols-[minmax(0,1fr)] gap-3 bg-test-soft px-4 py-2.5 text-test md:-mx-8 md:-mt-9 md:mb-8 md:px-8 lg:-mx-10 lg:px-10 print:hidden"
    >
      <div className="flex max-w-[1180px] flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <p className="flex min-w-0 flex-1 basis-56 gap-2.5 font-semibold text-small">
          <Eye size={17} aria-hidden className="mt-px shrink-0" />
          <span className="wrap-anywhere min-w-0">
            {t('banner', { account: accountName, time: timeText(until, { timeStyle: 'short' }) })}
          </span>
        </p>
        <Button variant="quiet" disabled={isBusy} onClick={() => run()}>
          {isBusy ? t('busy') : t('end')}
        </Button>
      </div>
      {failure ? <Problem error={failure} /> : null}
    </section>
  )
}
