import { type ReactNode, useId } from 'react'

const SIDES = { start: 'left-0', end: 'right-0' }

interface HintProps {
  text: ReactNode
  side?: keyof typeof SIDES
  /** Omits the dotted underline, for content that already looks interactive, such as a chip. */
  isPlain?: boolean
  children: ReactNode
}

export function Hint({ text, side = 'start', isPlain = false, children }: HintProps) {
  const id = useId()
  const underlineClass = isPlain
    ? ''
    : 'underline decoration-line2 decoration-dotted decoration-1 underline-offset-4'
  return (
    <span className="group relative inline-block">
      <span
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the explanation opens on keyboard focus
        tabIndex={0}
        aria-describedby={id}
        className={`inline-flex min-h-6 cursor-help items-center rounded-[4px] ${underlineClass}`}
      >
        {children}
      </span>
      <span
        role="tooltip"
        id={id}
        className={`pointer-events-none absolute bottom-full z-20 mb-1.5 hidden w-max max-w-[min(280px,72vw)] rounded-control bg-ink px-3 py-2 font-normal text-paper text-small group-focus-within:block group-hover:block ${SIDES[side]}`}
      >
        {text}
      </span>
    </span>
  )
}
