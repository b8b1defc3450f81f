import type { Metadata } from 'next'
import { headers } from 'next/headers'
import { getLocale, getTranslations } from 'next-intl/server'
import { preload } from 'react-dom'
import { DOCUMENT_PATH, DocsHeader } from '#app/docs/docs-header.tsx'
import { Reference } from '#app/docs/reference.tsx'
import { languageOf } from '#lib/base/locale.ts'
import { currentUser } from '#lib/edge/session/gate.ts'
import packages from '../../package.json' with { type: 'json' }
import './reference.css'

/** The version in the URL lets browsers cache the file until Scalar is upgraded. */
const SCRIPT_URL = `/docs/scalar.js?v=${packages.dependencies['@scalar/api-reference']}`

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
  return (
    <>
      <DocsHeader isSignedIn={user !== null} />
      <Reference script={SCRIPT_URL} document={DOCUMENT_PATH} labels={labels} />
    </>
  )
}
