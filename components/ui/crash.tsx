'use client'

import { buttonClass } from '#components/ui/button-class.ts'
import { MessagePage } from '#components/ui/message-page.tsx'
import { type Locale, preferredLocale } from '#lib/core/locale.ts'
import { LOCALE_COOKIE } from '#lib/session/schema.ts'
import en from '#messages/en/crash.json' with { type: 'json' }
import ptBR from '#messages/pt-BR/crash.json' with { type: 'json' }

const MESSAGES: Record<Locale, typeof en> = { 'pt-BR': ptBR, en }

/** Page for an unexpected error. Its digest identifies the error in the server's log. */
export function Crash({
  error,
  onRetry,
}: {
  error: Error & { digest?: string }
  onRetry: () => void
}) {
  const words = MESSAGES[preferredLocale(readLanguage())].crash
  return (
    <MessagePage code={error.digest ?? '500'} title={words.title} text={words.text}>
      {/* Every page loads this one, so it does without `Button`. */}
      <button type="button" onClick={onRetry} className={buttonClass('primary')}>
        {words.again}
      </button>
    </MessagePage>
  )
}

// Reads the cookie, because a page that failed on the server has no `lang` attribute.
function readLanguage(): string {
  if (typeof document === 'undefined') return 'pt-BR'
  const chosen = document.cookie.split('; ').find(pair => pair.startsWith(`${LOCALE_COOKIE}=`))
  return chosen?.split('=')[1] ?? navigator.language
}
