'use client'

import { Languages } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useApiIfAny } from '#components/form/api.ts'
import { keepLocale } from '#components/format/preferences.ts'
import { Button } from '#components/ui/button.tsx'
import type { Locale } from '#lib/base/locale.ts'

interface LanguageSwitchProps {
  /** The other language, and its name in itself. */
  other: Locale
  name: string
}

export function LanguageSwitch({ other, name }: LanguageSwitchProps) {
  const router = useRouter()
  const api = useApiIfAny()
  function choose() {
    keepLocale(other, api)
    router.refresh()
  }
  return (
    <Button look="plain" onClick={choose} lang={other}>
      <Languages size={16} aria-hidden />
      {name}
    </Button>
  )
}
