import type { ComponentProps, ReactNode } from 'react'

const CONTROL =
  'block w-full rounded-control border border-line2 bg-surface px-3 text-[16px] text-ink transition-colors duration-150 hover:border-faint focus-visible:border-accent aria-invalid:border-bad disabled:bg-sunk disabled:text-muted'

interface Labelled {
  label: string
  name: string
  /** What to enter, below it. */
  hint?: ReactNode
  /** What is wrong and what to do; the input is marked invalid with it. */
  problem?: string | null
  /** Beside the label, such as "optional". */
  note?: string
}

function Around({
  label,
  name,
  hint,
  problem,
  note,
  children,
}: Labelled & { children: ReactNode }) {
  return (
    <div className="min-w-0">
      <label htmlFor={name} className="mb-1.5 block font-semibold text-small">
        {label}
        {note ? <span className="ml-1.5 font-normal text-muted">{note}</span> : null}
      </label>
      {children}
      {problem ? (
        <p id={`${name}-problem`} className="mt-1.5 font-medium text-bad text-small">
          {problem}
        </p>
      ) : null}
      {hint && !problem ? (
        <p id={`${name}-hint`} className="mt-1.5 text-muted text-small">
          {hint}
        </p>
      ) : null}
    </div>
  )
}

function describedBy({ name, hint, problem }: Labelled) {
  const id = problem ? `${name}-problem` : hint ? `${name}-hint` : undefined
  return { 'aria-describedby': id, 'aria-invalid': problem ? true : undefined }
}

/** An input under a label that stays visible. */
export function Field({
  label,
  hint,
  problem,
  note,
  className = '',
  ...rest
}: Labelled & ComponentProps<'input'>) {
  const words = { label, name: rest.name, hint, problem, note }
  return (
    <Around {...words}>
      <input
        id={rest.name}
        {...describedBy(words)}
        {...rest}
        className={`${CONTROL} h-11 ${className}`}
      />
    </Around>
  )
}

export function TextArea({
  label,
  hint,
  problem,
  note,
  className = '',
  ...rest
}: Labelled & ComponentProps<'textarea'>) {
  const words = { label, name: rest.name, hint, problem, note }
  return (
    <Around {...words}>
      <textarea
        id={rest.name}
        rows={3}
        {...describedBy(words)}
        {...rest}
        className={`${CONTROL} py-2.5 ${className}`}
      />
    </Around>
  )
}

interface SelectProps extends Labelled, Omit<ComponentProps<'select'>, 'name'> {
  children: ReactNode
}

/** The system's own list of choices: the best there is on a phone. */
export function Select({
  label,
  hint,
  problem,
  note,
  children,
  className = '',
  ...rest
}: SelectProps) {
  const words = { label, name: rest.name, hint, problem, note }
  return (
    <Around {...words}>
      <select
        id={rest.name}
        {...describedBy(words)}
        {...rest}
        className={`${CONTROL} h-11 ${className}`}
      >
        {children}
      </select>
    </Around>
  )
}
