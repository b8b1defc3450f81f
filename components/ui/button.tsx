import type { ComponentProps } from 'react'
import { type ButtonVariant, buttonClass } from '#components/ui/button-class.ts'
import { Submit } from '#components/ui/submit.tsx'

interface ButtonProps extends ComponentProps<'button'> {
  variant: ButtonVariant
}

/** A button that submits with `formMethod="get"` works without scripts, as in a search. */
export function Button({ variant, className = '', ...rest }: ButtonProps) {
  const classes = `${buttonClass(variant)} ${className}`
  if (rest.type === 'submit' && rest.formMethod !== 'get')
    return <Submit {...rest} className={classes} />
  return <button type="button" {...rest} className={classes} />
}
