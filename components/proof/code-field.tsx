import { Field } from '#components/ui/field.tsx'

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
