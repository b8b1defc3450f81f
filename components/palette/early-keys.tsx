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

/**
 * Takes Ctrl or ⌘ K, and the text after it, until the palette's scripts run. Ten seconds after the last
 * key, the page has its keys back: the scripts may never come. Its source is the script.
 */
function keepEarlyKeys() {
  let text: string | null = null
  let takenAt = 0
  const onKeyDown = (event: KeyboardEvent) => {
    const { ctrlKey, metaKey, altKey, timeStamp } = event
    // Browsers that fill in a form send events without a key.
    const key = (event.key as string | undefined) ?? ''
    if (timeStamp - takenAt > 10_000) text = null
    if (key.toLowerCase() === 'k' && (ctrlKey || metaKey)) text = text === null ? '' : null
    else if (text === null) return
    else if (key === 'Escape') text = null
    else if (key === 'Backspace') text = text.slice(0, -1)
    else if (key.length === 1 && !ctrlKey && !metaKey && !altKey) text += key
    else return
    takenAt = timeStamp
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
