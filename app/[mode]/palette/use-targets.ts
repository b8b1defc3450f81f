'use client'

import { useRouter } from 'next/navigation'
import { useLocale } from 'next-intl'
import { useCallback, useState } from 'react'
import type { Target } from '#app/[mode]/palette/targets.ts'
import { useApi } from '#components/form/api.ts'
import { signOut } from '#components/form/auth-calls.ts'
import { keepLocale, keepTheme } from '#components/format/preferences.ts'
import { ApiProblem } from '#lib/edge/client/api.ts'

/** What happens when something of the palette is chosen. */
export function useTargets(onClose: () => void) {
  const router = useRouter()
  const locale = useLocale()
  const api = useApi()
  const [failure, setFailure] = useState<Error | null>(null)
  const go = useCallback(
    (href: string) => {
      router.push(href)
      onClose()
    },
    [router, onClose],
  )
  async function act({ href, deed }: Target) {
    if (href) return go(href)
    if (deed === 'signOut') {
      if (await signOut()) return location.assign('/login')
      return setFailure(new ApiProblem(0, 'network'))
    }
    if (deed === 'language') {
      keepLocale(locale === 'en' ? 'pt-BR' : 'en', api)
      router.refresh()
    } else if (deed) keepTheme(deed.theme, api)
    onClose()
  }
  return { go, act, failure }
}
