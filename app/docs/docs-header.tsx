import { ArrowLeft, FileJson, LogIn } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { PreferenceSwitches } from '#components/nav/preference-switches.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { Logo } from '#components/ui/logo.tsx'

export const DOCUMENT_PATH = '/api/openapi.json'

export function DocsHeader({ isSignedIn }: { isSignedIn: boolean }) {
  const t = useTranslations('docs')
  const Icon = isSignedIn ? ArrowLeft : LogIn
  return (
    <nav
      aria-label={t('title')}
      className="sticky top-0 z-30 flex h-15 items-center gap-1 border-line border-b bg-paper px-4 md:px-6"
    >
      <a href="/" className="mr-auto flex items-center gap-3">
        <Logo size={22} />
        <span className="hidden text-muted text-small sm:inline">{t('title')}</span>
      </a>
      <a href={DOCUMENT_PATH} className={`${buttonClass('plain')} max-md:hidden`}>
        <FileJson size={16} aria-hidden />
        OpenAPI
      </a>
      <PreferenceSwitches />
      <a href="/" className={buttonClass('plain')}>
        <Icon size={16} aria-hidden />
        <span className="max-sm:sr-only">{isSignedIn ? t('back') : t('signIn')}</span>
      </a>
    </nav>
  )
}
