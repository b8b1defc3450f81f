import type { LucideIcon } from 'lucide-react'

export const TONES = {
  ok: 'bg-ok-soft text-ok',
  wait: 'bg-wait-soft text-wait',
  bad: 'bg-bad-soft text-bad',
  off: 'bg-off-soft text-off',
  test: 'bg-test-soft text-test',
}
export type Tone = keyof typeof TONES

interface ChipProps {
  tone: Tone
  icon: LucideIcon
  children: string
}

/** A state as icon and word, so that color is never the only signal. */
export function Chip({ tone, icon: Icon, children }: ChipProps) {
  return (
    <span
      className={`inline-flex h-6 items-center gap-1.5 whitespace-nowrap rounded-chip align-middle px-2.5 pl-2 font-semibold text-small ${TONES[tone]}`}
    >
      <Icon size={14} strokeWidth={2.2} aria-hidden />
      {children}
    </span>
  )
}
