import { CircleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Notice } from '#components/ui/notice.tsx'
import { ApiError } from '#lib/edge/client/api.ts'

export function useProblemText(): (error: unknown) => string {
  const t = useTranslations('problem')
  return error => {
    const { code, requestId } = error instanceof ApiError ? error : { code: '', requestId: null }
    const key = (code.endsWith('not_found') ? 'not_found' : code) as 'network'
    return /^\w+$/.test(key) && t.has(key)
      ? t(key)
      : t('other', { code: requestId ?? (code || '?') })
  }
}

export function Problem({ error }: { error: unknown }) {
  const text = useProblemText()
  if (!error) return null
  return (
    <Notice tone="bad" icon={CircleAlert} role="alert">
      {text(error)}
    </Notice>
  )
}
