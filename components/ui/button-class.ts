const VARIANTS = {
  primary: 'justify-center px-4 bg-accent text-on-accent hover:brightness-110',
  quiet: 'justify-center border px-4 border-line2 bg-surface text-ink hover:bg-sunk',
  plain: 'px-2.5 text-muted hover:bg-sunk hover:text-ink',
}

export type ButtonVariant = keyof typeof VARIANTS

/** Apart from `Button`, which loads what forms need. */
export function buttonClass(variant: ButtonVariant): string {
  return `inline-flex min-h-10 items-center gap-2 rounded-control font-semibold text-body transition-[background-color,filter] duration-150 ${VARIANTS[variant]}`
}
