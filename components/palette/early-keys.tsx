import { headers } from 'next/headers'

/** Stands before the page's content, so that no key is lost while that loads. */
export async function EarlyKeys() {
  const nonce = (await headers()).get('x-nonce') ?? undefined
  const script = { __html: `(${keepEarlyKeys})()` }
  return (
    // biome-ignore lint/security/noDangerouslySetInnerHtml: a constant
    <script nonce={nonce} suppressHydrationWarning dangerouslySetInnerHTML={script} />
  )
}

/** Takes Ctrl or ⌘ K, and the text after it, until the palette's scripts run. Its source is the script. */
function keepEarlyKeys() {
  let text: string | null = null
  const onKeyDown = (event: KeyboardEvent) => {
    const { key, ctrlKey, metaKey, altKey } = event
    if (key.toLowerCase() === 'k' && (ctrlKey || metaKey)) text = text === null ? '' : null
    else if (text === null) return
    else if (key === 'Escape') text = null
    else if (key === 'Backspace') text = text.slice(0, -1)
    else if (key.length === 1 && !ctrlKey && !metaKey && !altKey) text += key
    else return
    event.preventDefault()
  }
  addEventListener('keydown', onKeyDown)
  globalThis.takeEarlyKeys = () => {
    removeEventListener('keydown', onKeyDown)
    const taken = text
    text = null
    return taken
  }
}
