import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { TONES, type Tone } from '#components/ui/chip.tsx'

export function Facts({ children }: { children: ReactNode }) {
  return (
    <dl className="grid gap-y-3 sm:grid-cols-[max-content_minmax(0,1fr)] sm:gap-x-6 xl:gap-x-10">
      {children}
    </dl>
  )
}

interface FactProps {
  name: string
  children: ReactNode
}

export function Fact({ name, children }: FactProps) {
  return (
    <div className="min-w-0 sm:contents">
      <dt className="text-muted text-small sm:leading-[1.65]">{name}</dt>
      <dd className="min-h-6 min-w-0 break-words">{children}</dd>
    </div>
  )
}

interface TimelineProps {
  label: string
  /** On phones, places the asides below the titles, because a date does not fit beside. */
  hasDates?: boolean
  children: ReactNode
}

export function Timeline({ label, hasDates, children }: TimelineProps) {
  return (
    <ol aria-label={label} data-dates={hasDates} className="group/timeline">
      {children}
    </ol>
  )
}

interface TimelineStepProps {
  tone: Tone
  icon: LucideIcon
  title: ReactNode
  aside?: ReactNode
  children?: ReactNode
}

export function TimelineStep({ tone, icon: Icon, title, aside, children }: TimelineStepProps) {
  return (
    <li className="group/step relative flex gap-3 pb-5 last:pb-0">
      <span
        aria-hidden
        className="absolute top-6 bottom-0 left-[11px] w-px bg-line2 group-last/step:hidden"
      />
      <span
        className={`z-10 grid size-[23px] shrink-0 place-items-center rounded-chip ${TONES[tone]}`}
      >
        <Icon size={13} strokeWidth={2.2} aria-hidden />
      </span>
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-baseline justify-between gap-x-4">
          <p className="min-w-0 font-semibold">{title}</p>
          {aside ? (
            <div className="text-muted text-small max-sm:group-data-dates/timeline:basis-full">
              {aside}
            </div>
          ) : null}
        </div>
        {children ? <div className="mt-0.5 text-muted text-small">{children}</div> : null}
      </div>
    </li>
  )
}
