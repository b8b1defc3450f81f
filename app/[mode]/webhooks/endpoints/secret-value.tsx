'use client'

import { useTranslations } from 'next-intl'
import { CopyButton } from '#components/ui/copy.tsx'

export function SecretValue({ secret }: { secret: string }) {
  const t = useTranslations('endpoints')
  return (
    <div>
      <div className="flex flex-wrap items-center gap-2 rounded-control bg-sunk p-2 pl-4">
        <code
          data-testid="secret-value"
          className="min-w-0 flex-1 basis-52 break-all font-mono text-[13px]"
        >
          {secret}
        </code>
        <CopyButton text={secret} />
      </div>
      <p className="mt-2 text-muted text-small">
        {t.rich('verify', {
          docs: words => (
            <a href="/docs/webhooks" className="font-semibold text-accent underline">
              {words}
            </a>
          ),
        })}
      </p>
    </div>
  )
}
