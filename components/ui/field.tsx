import type { ComponentProps } from 'react'

interface FieldProps extends ComponentProps<'input'> {
  label: string
  name: string
}

/** An input under a label that stays visible. */
export function Field({ label, name, ...rest }: FieldProps) {
  return (
    <div>
      <label htmlFor={name} className="mb-1.5 block font-semibold text-small">
        {label}
      </label>
      <input
        id={name}
        name={name}
        {...rest}
        className="block h-11 w-full rounded-control border border-line2 bg-surface px-3 text-[16px] text-ink transition-colors duration-150 hover:border-faint focus-visible:border-accent aria-invalid:border-bad"
      />
    </div>
  )
}
