'use client'

import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { Bar, BarChart, CartesianGrid, Tooltip, type TooltipContentProps, YAxis } from 'recharts'
import { moneyText } from '#components/format/format.tsx'
import { dateFormat, numberFormat } from '#lib/core/locale.ts'
import type { DayReceived } from '#lib/dashboard/schema.ts'

const BAR_COLOR = 'color-mix(in srgb, var(--color-accent) 32%, var(--color-surface))'
const HIGHLIGHT_COLOR = 'var(--color-accent)'

interface ChartProps {
  days: DayReceived[]
  axisWidth: number
}

export function Chart({ days, axisWidth }: ChartProps) {
  const t = useTranslations('chart')
  const best = Math.max(...days.map(({ amount }) => amount))
  const locale = useLocale()
  const axis = numberFormat(locale, { notation: 'compact', maximumSignificantDigits: 3 })
  const [isTooltipOpen, setTooltipOpen] = useState(false)
  const bars = days.map(day => ({
    ...day,
    fill: day.amount === best && !isTooltipOpen ? HIGHLIGHT_COLOR : BAR_COLOR,
  }))
  return (
    <BarChart
      responsive
      data={bars}
      margin={{ top: 6, right: 0, bottom: 0, left: 0 }}
      barCategoryGap={days.length > 120 ? 0 : '7%'}
      title={t('keys')}
      onMouseMove={({ isTooltipActive }) => setTooltipOpen(Boolean(isTooltipActive))}
      onMouseLeave={() => setTooltipOpen(false)}
      style={{ width: '100%', height: '100%' }}
    >
      <CartesianGrid vertical={false} stroke="var(--color-line)" strokeDasharray="2 4" />
      <YAxis
        orientation="right"
        domain={[0, 'dataMax']}
        tickCount={3}
        tickFormatter={amount => axis.format(amount / 100)}
        width={axisWidth}
        axisLine={false}
        tickLine={false}
        tick={{ fontSize: 11, fill: 'var(--color-muted)' }}
      />
      <Tooltip cursor={false} isAnimationActive={false} content={DayTooltip} />
      <Bar
        dataKey="amount"
        radius={3}
        minPointSize={2}
        maxBarSize={64}
        isAnimationActive={false}
        activeBar={{ fill: HIGHLIGHT_COLOR }}
      />
    </BarChart>
  )
}

function DayTooltip({ active, payload }: TooltipContentProps) {
  const t = useTranslations('chart')
  const locale = useLocale()
  const day: DayReceived | undefined = payload[0]?.payload
  if (!active || !day) return null
  const date = dateFormat(locale, { dateStyle: 'full', timeZone: 'UTC' })
  return (
    <div
      role="status"
      className="rounded-control bg-ink px-3 py-2 text-paper text-small shadow-over"
    >
      <p>{date.format(new Date(day.day))}</p>
      <p className="font-semibold text-body">{moneyText(day.amount, locale)}</p>
      <p>{t('paidCount', { count: day.count })}</p>
    </div>
  )
}
