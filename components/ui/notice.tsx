import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

const TONES = { bad: 'bg-bad-soft text-bad', wait: 'bg-wait-soft text-wait' }

interface NoticeProps {
  tone: keyof typeof TONES
  icon: LucideIcon
  children: ReactNode
  role?: 'alert' | 'status'
}

export function Notice({ tone, icon: Icon, children, role }: NoticeProps) {
  return (
    <p
      role={role}
      className={`flex gap-2.5 rounded-control px-3.5 py-3 font-medium text-small ${TONES[tone]}`}
    >
      <Icon size={16} aria-hidden className="mt-0.5 shrink-0" />
      <span className="min-w-0 wrap-anywhere">{children}</span>
    </p>
  )
}
