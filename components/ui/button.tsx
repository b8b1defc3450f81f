import type { ComponentProps } from 'react'
import { Submit } from '#components/ui/submit.tsx'

const VARIANTS = {
  primary: 'justify-center px-4 bg-accent text-on-accent hover:brightness-110',
  quiet: 'justify-center border px-4 border-line2 bg-surface text-ink hover:bg-sunk',
  plain: 'px-2.5 text-muted hover:bg-sunk hover:text-ink',
}

export function buttonClass(variant: keyof typeof VARIANTS): string {
  return `inline-flex min-h-10 items-center gap-2 rounded-control font-semibold text-body transition-[background-color,filter] duration-150 ${VARIANTS[variant]}`
}

interface ButtonProps extends ComponentProps<'button'> {
  variant: keyof typeof VARIANTS
}

/** A button that submits with `formMethod="get"` works without scripts, as in a search. */
export function Button({ variant, className = '', ...rest }: ButtonProps) {
  const classes = `${buttonClass(variant)} ${className}`
  if (rest.type === 'submit' && rest.formMethod !== 'get')
    return <Submit {...rest} className={classes} />
  return <button type="button" {...rest} className={classes} />
}
