import type { ReactNode } from 'react'

/** A command or a setting inside a sentence. */
export function Code({ children }: { children: ReactNode }) {
  return <code className="rounded-[5px] bg-sunk px-1 font-mono text-[12.5px]">{children}</code>
}
