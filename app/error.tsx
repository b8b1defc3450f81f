'use client'

import { Crash } from '#components/ui/crash.tsx'

export default function ErrorPage({ error }: { error: Error & { digest?: string } }) {
  return <Crash error={error} onRetry={() => location.reload()} />
}
