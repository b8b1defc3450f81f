import { headers } from 'next/headers'

/** Keys typed before the palette's scripts run: takes Ctrl or ⌘ K, and the text after it. */
const SCRIPT = `(() => {
  let text = null
  const onKeyDown = event => {
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
})()`

/** Stands before the page's content, so that no key is lost while that loads. */
export async function EarlyKeys() {
  const nonce = (await headers()).get('x-nonce') ?? undefined
  return (
    // biome-ignore lint/security/noDangerouslySetInnerHtml: a constant
    <script nonce={nonce} suppressHydrationWarning dangerouslySetInnerHTML={{ __html: SCRIPT }} />
  )
}
