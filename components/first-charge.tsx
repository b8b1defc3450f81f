import { useTranslations } from 'next-intl'
import { Sheet } from '#components/ui/sheet.tsx'

/** A merchant's first step, as a line that works once it holds a token. */
export function FirstCharge({ origin }: { origin: string }) {
  const t = useTranslations('firstCharge')
  const body = `{"amount": 4990, "client_name": "Ana Rocha",
    "client_email": "ana@example.com", "client_doc": "529.982.247-25"}`
  const line = `curl ${origin}/api/transactions \\
  -H "Authorization: Bearer ${t('token')}" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`
  return (
    <Sheet className="px-4 py-5 md:px-7 md:py-6">
      <p className="font-semibold">{t('title')}</p>
      <p className="mt-1 max-w-[62ch] text-muted text-small">{t('how')}</p>
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
        tabIndex={0}
        aria-label={t('example')}
        className="mt-4 overflow-x-auto rounded-control bg-sunk px-4 py-3.5"
      >
        <pre className="font-mono text-[13px] leading-[1.65]">{line}</pre>
      </section>
    </Sheet>
  )
}
