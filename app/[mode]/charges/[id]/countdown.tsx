'use client'

import { Timer } from 'lucide-react'
import { useNow, useTranslations } from 'next-intl'

const SECOND_MS = 1_000
const DAY_S = 86_400

/** How long the payer has left, by the second; nobody is told aloud each time. */
export function Countdown({ until }: { until: string }) {
  const t = useTranslations('charge')
  const now = useNow({ updateInterval: SECOND_MS })
  const leftS = Math.floor((Date.parse(until) - now.getTime()) / SECOND_MS)
  return (
    <p className="flex min-h-6 items-center gap-2 text-muted text-small">
      <Timer size={16} aria-hidden className="shrink-0" />
      {leftS < 0 ? (
        t('timeUp')
      ) : (
        <span role="timer" aria-live="off">
          {t('expiresIn')} <b className="font-semibold text-ink">{clockText(leftS)}</b>
        </span>
      )}
    </p>
  )
}

/** 23:41:08, and from a day on 29 d 23:41:08. */
function clockText(leftS: number): string {
  const days = Math.floor(leftS / DAY_S)
  const parts = [Math.floor((leftS % DAY_S) / 3_600), Math.floor((leftS % 3_600) / 60), leftS % 60]
  const clock = parts.map(part => String(part).padStart(2, '0')).join(':')
  return days > 0 ? `${days} d ${clock}` : clock
}
