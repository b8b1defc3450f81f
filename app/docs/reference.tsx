'use client'

import { CircleAlert } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Notice } from '#components/ui/notice.tsx'

interface Scalar {
  createApiReference: (host: HTMLElement, settings: object) => { destroy: () => void }
}

interface ReferenceProps {
  script: string
  document: string
  words: Words
}

interface Words {
  /** Language of Scalar's own texts; the words below replace those too long for their place. */
  locale: string
  token: string
  tryIt: string
  markdown: string
  schema: string
  loading: string
  failed: string
}

/** Renders the API document with Scalar, whose script this server hosts. */
export function Reference({ script, document: url, words }: ReferenceProps) {
  const host = useRef<HTMLDivElement>(null)
  const [state, setState] = useState<'loading' | 'there' | 'failed'>('loading')

  useEffect(() => {
    let drawn: { destroy: () => void } | undefined
    let left = false
    loadScalar(script)
      .then(scalar => {
        if (left || !host.current) return
        drawn = scalar.createApiReference(host.current, settingsOf(url, words))
        setState('there')
      })
      .catch(() => setState('failed'))
    const unfollow = followTheme()
    return () => {
      left = true
      unfollow()
      drawn?.destroy()
    }
  }, [script, url, words])

  return (
    <>
      {state === 'there' ? null : (
        <main className="p-6 text-muted">
          {state === 'loading' ? (
            words.loading
          ) : (
            <Notice tone="bad" icon={CircleAlert} role="alert">
              {words.failed}
            </Notice>
          )}
        </main>
      )}
      <div ref={host} />
    </>
  )
}

/** Turns off every Scalar feature that calls another server. */
function settingsOf(url: string, words: Words): object {
  return {
    url,
    // The origin of this page is the only one it may call.
    servers: [{ url: `${location.origin}/api` }],
    localization: {
      locale: words.locale,
      translations: {
        actions: { copyAsMarkdown: words.markdown },
        apiClient: { authSelector: { selectedType: '{type}' } },
        authentication: { required: words.token },
        operation: { testRequest: words.tryIt },
        response: { showSchema: words.schema },
      },
    },
    theme: 'none',
    withDefaultFonts: false,
    hideDarkModeToggle: true,
    // The document contains its own code samples.
    hiddenClients: true,
    hideClientButton: true,
    documentDownloadType: 'none',
    showDeveloperTools: 'never',
    telemetry: false,
    agent: { disabled: true, hideAddApi: true },
    mcp: { disabled: true },
    orderSchemaPropertiesBy: 'preserve',
  }
}

function loadScalar(src: string): Promise<Scalar> {
  const place = window as typeof window & { Scalar?: Scalar; __zod_globalConfig?: object }
  // Without it, Scalar's zod tests whether eval is allowed, which violates the CSP.
  place.__zod_globalConfig = { ...place.__zod_globalConfig, jitless: true }
  if (place.Scalar) return Promise.resolve(place.Scalar)
  return new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement('script'), { src })
    script.onload = () => (place.Scalar ? resolve(place.Scalar) : reject(new Error(src)))
    script.onerror = () => reject(new Error(src))
    document.head.append(script)
  })
}

/** Sets the class that Scalar reads as dark or light, following the theme of the page. */
function followTheme(): () => void {
  const { documentElement: root, body } = document
  const system = matchMedia('(prefers-color-scheme: dark)')
  const follow = () => {
    const chosen = root.dataset.theme
    const isDark = chosen === 'dark' || (chosen !== 'light' && system.matches)
    if (body.classList.contains('dark-mode') === isDark && body.classList.length > 0) return
    body.classList.toggle('dark-mode', isDark)
    body.classList.toggle('light-mode', !isDark)
  }
  const watcher = new MutationObserver(follow)
  watcher.observe(root, { attributeFilter: ['data-theme'] })
  watcher.observe(body, { attributeFilter: ['class'] })
  system.addEventListener('change', follow)
  follow()
  return () => {
    watcher.disconnect()
    system.removeEventListener('change', follow)
  }
}
