const ASKED = 'troco-palette'

/** From wherever one stands: the layout holds the one palette of a page. */
export function openPalette(): void {
  dispatchEvent(new Event(ASKED))
}

/** Calls back when somebody asks for the palette, with the keyboard too: Ctrl or ⌘ K. */
export function watchPalette(onAsked: () => void, onKey: () => void): () => void {
  const listen = (event: KeyboardEvent) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    onKey()
  }
  addEventListener(ASKED, onAsked)
  addEventListener('keydown', listen)
  return () => {
    removeEventListener(ASKED, onAsked)
    removeEventListener('keydown', listen)
  }
}
