'use client'

import { Crash } from '#components/ui/crash.tsx'
import { fontVariables } from '#components/ui/fonts.ts'
import './globals.css'

export default function GlobalErrorPage({ error }: { error: Error & { digest?: string } }) {
  return (
    <html lang="pt-BR" className={fontVariables}>
      <body>
        <title>Troco</title>
        <Crash error={error} onRetry={() => location.reload()} />
      </body>
    </html>
  )
}
