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
  labels: ReferenceLabels
}

interface ReferenceLabels {
  /** Language of Scalar's texts. Labels below replace Scalar texts that are too long. */
  locale: string
  token: string
  tryIt: string
  markdown: string
  schema: string
  loading: string
  failed: string
}

export function Reference({ script, document: url, labels }: ReferenceProps) {
  const host = useRef<HTMLDivElement>(null)
  const [state, setState] = useState<'loading' | 'there' | 'failed'>('loading')

  useEffect(() => {
    let reference: { destroy: () => void } | undefined
    let isUnmounted = false
    loadScalar(script)
      .then(scalar => {
        if (isUnmounted || !host.current) return
        reference = scalar.createApiReference(host.current, scalarSettings(url, labels))
        setState('there')
      })
      .catch(() => setState('failed'))
    const stopFollowing = followTheme()
    return () => {
      isUnmounted = true
      stopFollowing()
      reference?.destroy()
    }
  }, [script, url, labels])

  return (
    <>
      {state === 'there' ? null : (
        <main className="p-6 text-muted">
          {state === 'loading' ? (
            labels.loading
          ) : (
            <Notice tone="bad" icon={CircleAlert} role="alert">
              {labels.failed}
            </Notice>
          )}
        </main>
      )}
      <div ref={host} />
    </>
  )
}

/** Turns off every Scalar feature that calls another server. */
function scalarSettings(url: string, labels: ReferenceLabels): object {
  return {
    url,
    // The CSP allows calls only to the origin of this page.
    servers: [{ url: `${location.origin}/api` }],
    localization: {
      locale: labels.locale,
      translations: {
        actions: { copyAsMarkdown: labels.markdown },
        apiClient: { authSelector: { selectedType: '{type}' } },
        authentication: { required: labels.token },
        operation: { testRequest: labels.tryIt },
        response: { showSchema: labels.schema },
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
  const scalarWindow = window as typeof window & { Scalar?: Scalar; __zod_globalConfig?: object }
  // Without `jitless`, Scalar's zod tests whether eval is allowed, which violates the CSP.
  scalarWindow.__zod_globalConfig = { ...scalarWindow.__zod_globalConfig, jitless: true }
  if (scalarWindow.Scalar) return Promise.resolve(scalarWindow.Scalar)
  return new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement('script'), { src })
    script.onload = () =>
      scalarWindow.Scalar ? resolve(scalarWindow.Scalar) : reject(new Error(src))
    script.onerror = () => reject(new Error(src))
    document.head.append(script)
  })
}

/** Keeps the class from which Scalar reads the theme equal to the page's theme. */
function followTheme(): () => void {
  const { documentElement: root, body } = document
  const system = matchMedia('(prefers-color-scheme: dark)')
  const applyTheme = () => {
    const chosen = root.dataset.theme
    const isDark = chosen === 'dark' || (chosen !== 'light' && system.matches)
    if (body.classList.contains('dark-mode') === isDark && body.classList.length > 0) return
    body.classList.toggle('dark-mode', isDark)
    body.classList.toggle('light-mode', !isDark)
  }
  const watcher = new MutationObserver(applyTheme)
  watcher.observe(root, { attributeFilter: ['data-theme'] })
  watcher.observe(body, { attributeFilter: ['class'] })
  system.addEventListener('change', applyTheme)
  applyTheme()
  return () => {
    watcher.disconnect()
    system.removeEventListener('change', applyTheme)
  }
}
