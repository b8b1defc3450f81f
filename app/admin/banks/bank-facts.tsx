'use client'

import { Ban, Check, CircleAlert, CircleDashed, Hourglass, Lock, TriangleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useDurations, useTimeText } from '#components/format/format.tsx'
import { Chip } from '#components/ui/chip.tsx'
import type { BankLine } from '#lib/operator/banks/schema.ts'

const STYLES = {
  open: { tone: 'ok', icon: Check },
  blocked: { tone: 'bad', icon: Ban },
  resting: { tone: 'wait', icon: Hourglass },
  failed: { tone: 'bad', icon: CircleAlert },
  unchecked: { tone: 'wait', icon: CircleDashed },
  unserved: { tone: 'bad', icon: TriangleAlert },
  closed: { tone: 'off', icon: Lock },
} as const

export function BankState({ bank }: { bank: Pick<BankLine, 'state'> }) {
  const t = useTranslations('banks')
  return (
    <span data-testid="bank-state">
      <Chip {...STYLES[bank.state]}>{t(`state.${bank.state}`)}</Chip>
    </span>
  )
}

export function CertificateDate({ at }: { at: string }) {
  const text = useTimeText()
  return (
    <time dateTime={at} className="whitespace-nowrap">
      {text(at, { dateStyle: 'medium' })}
    </time>
  )
}

export function Latency({ latency }: Pick<BankLine, 'latency'>) {
  const t = useTranslations('banks')
  const { callDuration } = useDurations()
  if (latency === null) return t('noCalls')
  return (
    <span title={t('latencyHint')}>
      <span className="block">{callDuration(latency.p50_ms)}</span>
      <span className="block">{t('latencyMost', { time: callDuration(latency.p95_ms) })}</span>
    </span>
  )
}
