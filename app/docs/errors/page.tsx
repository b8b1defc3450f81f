import type { Metadata } from 'next'
import { getLocale, getTranslations } from 'next-intl/server'
import { DocsHeader } from '#app/docs/docs-header.tsx'
import { API_ERRORS } from '#lib/base/refusals.ts'
import { currentUser } from '#lib/edge/session/gate.ts'
import { API_ERROR_WORDS } from '#messages/words.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('docs'))('errorsTitle') }
}

/** Every error response of the API links to its code's section here (RFC 8288, rel="help"). */
export default async function ErrorsPage() {
  const [t, locale, user] = await Promise.all([getTranslations('docs'), getLocale(), currentUser()])
  const words = API_ERROR_WORDS[locale].apiErrors
  return (
    <>
      <DocsHeader isSignedIn={user !== null} />
      <main className="mx-auto max-w-3xl px-4 py-8 md:px-6">
        <h1 className="text-head">{t('errorsTitle')}</h1>
        <p className="mt-2 mb-6 text-muted">{t('errorsText')}</p>
        {API_ERRORS.map(({ code, status }) => (
          <section
            key={code}
            id={code}
            className="-mx-4 scroll-mt-18 rounded-card border-line border-t px-4 py-4 target:bg-accent-soft"
          >
            <h2 className="flex flex-wrap items-baseline gap-x-3">
              <a href={`#${code}`} className="wrap-anywhere font-mono font-semibold">
                {code}
              </a>
              <span className="text-muted text-small tabular-nums">{status}</span>
            </h2>
            <p className="mt-1">
              <Markup text={words[code].cause} />
            </p>
            <p className="mt-1 text-muted">
              <span className="font-semibold text-ink">{t('remedy')}:</span>{' '}
              <Markup text={words[code].remedy} />
            </p>
          </section>
        ))}
      </main>
    </>
  )
}

/** Shows the parts of a text between backticks as code. */
function Markup({ text }: { text: string }) {
  return text.split('`').map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <code key={part} className="wrap-anywhere font-mono text-small">
        {part}
      </code>
    ),
  )
}
