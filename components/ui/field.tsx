'use client'

import { ChevronDown } from 'lucide-react'
import { type ComponentProps, type ReactNode, useState } from 'react'

const CONTROL_CLASS =
  'block w-full rounded-control border border-line2 bg-surface px-3 text-[16px] text-ink transition-colors duration-150 hover:border-faint focus-visible:border-accent aria-invalid:border-bad disabled:bg-sunk disabled:text-muted'

interface FieldTexts {
  label: string
  name: string
  /** Defaults to the name. Set it in a dialog above a page that has a field of the same name. */
  id?: string
  hint?: ReactNode
  /** Error message. Also marks the input as invalid. */
  problem?: ReactNode
  /** Question about the input. Replaces the error message. */
  question?: ReactNode
  note?: string
  /** At the right end of the line of the label. */
  beside?: ReactNode
}

function FieldLayout({
  label,
  name,
  id = name,
  hint,
  problem,
  question,
  note,
  beside,
  children,
}: FieldTexts & { children: ReactNode }) {
  const message = question || problem
  return (
    <div className="min-w-0">
      <div className="mb-1.5 flex flex-wrap justify-between gap-x-3 text-small">
        <label htmlFor={id} className="font-semibold">
          {label}
          {note ? <span className="ml-1.5 font-normal text-muted">{note}</span> : null}
        </label>
        {beside ? <span className="ml-auto text-muted">{beside}</span> : null}
      </div>
      {children}
      {message ? (
        <p
          id={`${id}-problem`}
          className={`mt-1.5 font-medium text-small ${question ? 'text-wait' : 'text-bad'}`}
        >
          {message}
        </p>
      ) : null}
      {hint && !message ? (
        <p id={`${id}-hint`} className="mt-1.5 text-muted text-small">
          {hint}
        </p>
      ) : null}
    </div>
  )
}

/** Splits the props into texts and control, and links the two for screen readers. */
function splitFieldProps<Props extends FieldTexts & { className?: string }>(
  props: Props,
  sizeClass: string,
) {
  const {
    label,
    name,
    id = name,
    hint,
    problem,
    question,
    note,
    beside,
    className = '',
    ...rest
  } = props
  const describedBy = question || problem ? `${id}-problem` : hint ? `${id}-hint` : undefined
  const ariaProps = { 'aria-describedby': describedBy, 'aria-invalid': problem ? true : undefined }
  const classes = `${CONTROL_CLASS} ${sizeClass} ${question ? 'border-wait!' : ''} ${className}`
  return {
    texts: { label, name, id, hint, problem, question, note, beside },
    control: { id, name, ...ariaProps, ...rest, className: classes },
  }
}

export function Field(props: FieldTexts & ComponentProps<'input'>) {
  const { texts, control } = splitFieldProps(props, 'h-11')
  return (
    <FieldLayout {...texts}>
      <input {...control} />
    </FieldLayout>
  )
}

interface PasswordFieldProps extends FieldTexts, Omit<ComponentProps<'input'>, 'name' | 'type'> {
  showLabel: string
}

/** A password that can be shown while it is typed. */
export function PasswordField({ showLabel, ...rest }: PasswordFieldProps) {
  const [isShown, setShown] = useState(false)
  const button = (
    <button
      type="button"
      aria-pressed={isShown}
      onClick={() => setShown(!isShown)}
      className="-my-1 h-7 rounded-control px-1.5 font-medium text-accent hover:bg-sunk"
    >
      {showLabel}
    </button>
  )
  return (
    <Field
      autoCapitalize="none"
      spellCheck={false}
      {...rest}
      type={isShown ? 'text' : 'password'}
      beside={button}
    />
  )
}

export function TextArea(props: FieldTexts & ComponentProps<'textarea'>) {
  const { texts, control } = splitFieldProps(props, 'py-2.5')
  return (
    <FieldLayout {...texts}>
      <textarea rows={3} {...control} />
    </FieldLayout>
  )
}

interface SelectProps extends FieldTexts, Omit<ComponentProps<'select'>, 'name'> {
  children: ReactNode
}

/** The native select element, because phones have their own selection interface for it. */
export function Select(props: SelectProps) {
  const { texts, control } = splitFieldProps(props, 'h-11 appearance-none truncate pr-9')
  return (
    <FieldLayout {...texts}>
      <span className="relative block">
        <select {...control} />
        <ChevronDown
          size={16}
          aria-hidden
          className="pointer-events-none absolute top-1/2 right-3 -translate-y-1/2 text-muted"
        />
      </span>
    </FieldLayout>
  )
}

interface CodeFieldProps {
  label: string
  id?: string
  isRecovery?: boolean
  problem?: string | null
}

export function CodeField({ label, id, isRecovery = false, problem }: CodeFieldProps) {
  return (
    <Field
      label={label}
      id={id}
      name="code"
      required
      autoComplete={isRecovery ? 'off' : 'one-time-code'}
      inputMode={isRecovery ? 'text' : 'numeric'}
      maxLength={isRecovery ? 14 : 7}
      autoCapitalize="none"
      spellCheck={false}
      problem={problem}
      className="font-mono tracking-[0.12em]"
    />
  )
}
