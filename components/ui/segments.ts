/** A row of presets, such as periods; tabs lead to other pages, and filters open a menu. */
export const SEGMENTS_CLASS = 'flex shrink-0 rounded-control bg-sunk p-[3px]'

/** One of them: a button with `aria-pressed`, or a link with `aria-current`. */
export const SEGMENT_CLASS =
  'inline-flex h-8 flex-1 items-center justify-center gap-1 whitespace-nowrap rounded-[8px] px-3 font-medium text-muted text-small transition-colors duration-150 hover:text-ink aria-pressed:bg-surface aria-pressed:font-semibold aria-pressed:text-ink aria-pressed:shadow-[0_1px_2px_var(--color-lift)] md:h-[30px] aria-[current]:bg-surface aria-[current]:font-semibold aria-[current]:text-ink aria-[current]:shadow-[0_1px_2px_var(--color-lift)]'
