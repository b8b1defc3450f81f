import type { ReactNode } from 'react'

/** A command or a setting inside a sentence. */
export function Code({ children }: { children: ReactNode }) {
  return <code className="rounded-[5px] bg-sunk px-1 font-mono text-[12.5px]">{children}</code>
}

const SIGN_CLASSES = { '+': 'bg-ok-soft text-ok', '-': 'bg-bad-soft text-bad', ' ': '' }

export interface DiffLine {
  sign: keyof typeof SIGN_CLASSES
  text: string
}

interface CodeBlockProps {
  label: string
  text?: string
  /** Diff to show instead of `text`. */
  lines?: DiffLine[]
}

export function CodeBlock({ label, text, lines }: CodeBlockProps) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: long content must scroll by keyboard
      tabIndex={0}
      className="mt-3 max-h-[420px] overflow-y-auto rounded-control bg-sunk px-4 py-3.5"
    >
      <pre className="whitespace-pre-wrap break-all font-mono text-[12.5px] leading-[1.6]">
        {lines
          ? lines.map(({ sign, text: line }, index) => (
              <span
                // biome-ignore lint/suspicious/noArrayIndexKey: lines have no id and never move
                key={index}
                className={`-mx-1.5 block rounded-[4px] px-1.5 ${SIGN_CLASSES[sign]}`}
              >
                {`${sign} ${line}`}
              </span>
            ))
          : text}
      </pre>
    </section>
  )
}
