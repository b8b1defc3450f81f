import { ArrowLeft, FileJson, LogIn } from 'lucide-react'
import type { Metadata } from 'next'
import { headers } from 'next/headers'
import { getLocale, getTranslations } from 'next-intl/server'
import { preload } from 'react-dom'
import { Reference } from '#app/docs/reference.tsx'
import { PreferenceSwitches } from '#components/nav/preference-switches.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { Logo } from '#components/ui/logo.tsx'
import { languageOf } from '#lib/base/locale.ts'
import { currentUser } from '#lib/edge/session/gate.ts'
import packages from '../../package.json' with { type: 'json' }
import './reference.css'

/** The version in the URL lets browsers cache the file until Scalar is upgraded. */
const SCRIPT_URL = `/docs/scalar.js?v=${packages.dependencies['@scalar/api-reference']}`
const DOCUMENT_PATH = '/api/openapi.json'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('docs'))('title') }
}

/** The public API reference. Links load full pages, because Scalar expects a page of its own. */
export default async function DocsPage() {
  const [t, locale, user, requestHeaders] = await Promise.all([
    getTranslations('docs'),
    getLocale(),
    currentUser(),
    headers(),
  ])
  preload(SCRIPT_URL, { as: 'script', nonce: requestHeaders.get('x-nonce') ?? undefined })
  const labels = {
    locale: languageOf(locale),
    token: t('token'),
    tryIt: t('tryIt'),
    markdown: t('markdown'),
    schema: t('schema'),
    loading: t('loading'),
    failed: t('failed'),
  }
  const Icon = user ? ArrowLeft : LogIn
  return (
    <>
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
          <span className="max-sm:sr-only">{user ? t('back') : t('signIn')}</span>
        </a>
      </nav>
      <Reference script={SCRIPT_URL} document={DOCUMENT_PATH} labels={labels} />
    </>
  )
}
