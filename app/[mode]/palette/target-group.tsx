'use client'

import { Command } from 'cmdk'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { ITEM } from '#app/[mode]/palette/hit-item.tsx'
import type { Target } from '#app/[mode]/palette/targets.ts'

interface TargetGroupProps {
  heading: string
  targets?: Target[]
  onSelect?: (target: Target) => void
  children?: ReactNode
}

/** Some of what can be chosen, under its name. */
export function TargetGroup({ heading, targets = [], onSelect, children }: TargetGroupProps) {
  const t = useTranslations('palette')
  if (!children && targets.length === 0) return null
  return (
    <Command.Group
      heading={<span className="block px-3 pt-2.5 pb-1 text-[12.5px] text-muted">{heading}</span>}
    >
      {children}
      {targets.map(target => {
        const { name, icon: Icon } = target
        return (
          <Command.Item
            key={name}
            value={name}
            onSelect={() => onSelect?.(target)}
            className={ITEM}
          >
            <Icon size={17} strokeWidth={1.8} aria-hidden className="shrink-0 text-muted" />
            <span className="min-w-0 truncate">{t(`target.${name}`)}</span>
          </Command.Item>
        )
      })}
    </Command.Group>
  )
}
