import type { Page } from 'playwright/test'

/**
 * Lists texts that cannot be read: outside a block that contains them, over another text, cut off
 * without an ellipsis, or broken into a column of a few letters.
 */
export function findUnreadable(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    interface Line {
      text: string
      element: Element
      box: DOMRect
    }

    /** A box that is smaller than the line by the space above and below its letters. */
    const lettersOf = ({ x, y, width, height }: DOMRect) =>
      new DOMRect(x, y + height * 0.25, width, height * 0.5)
    const startOf = (text: string) => text.trim().slice(0, 60)

    const { scrollWidth, clientWidth } = document.documentElement
    const found = scrollWidth > clientWidth ? [`the page is ${scrollWidth} px wide`] : []
    const lines: Line[] = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement
      const text = node.textContent ?? ''
      if (!text.trim() || !element?.checkVisibility() || isForReadersOnly(element)) continue
      const range = document.createRange()
      range.selectNodeContents(node)
      const boxes = [...range.getClientRects()].filter(({ width }) => width > 1)
      if (range.getBoundingClientRect().right > limitOf(element) + 1)
        found.push(`outside: ${startOf(text)}`)
      if (boxes.length >= 4 && text.trim().length / boxes.length < 6)
        found.push(`in a column: ${startOf(text)}`)
      if (boxes.some(box => isCutOff(box, element))) found.push(`cut off: ${startOf(text)}`)
      for (const box of boxes) {
        const visible = clip(lettersOf(box), element)
        if (visible) lines.push({ text, element, box: visible })
      }
    }
    for (const [index, one] of lines.entries()) {
      for (const other of lines.slice(index + 1)) {
        if (one.element === other.element) continue
        const width = Math.min(one.box.right, other.box.right) - Math.max(one.box.x, other.box.x)
        const height = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.y, other.box.y)
        if (width > 1 && height > 1)
          found.push(`over each other: ${startOf(one.text)} | ${startOf(other.text)}`)
      }
    }
    return [...new Set(found)]

    /** The visible part; null if an ancestor cuts it off, or if it floats above the page. */
    function clip(box: DOMRect, element: Element): DOMRect | null {
      let [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom]
      for (let parent: Element | null = element; parent; parent = parent.parentElement) {
        const { overflowX, overflowY, position } = getComputedStyle(parent)
        if (position === 'fixed' || position === 'sticky') return null
        const frame = parent.getBoundingClientRect()
        if (overflowX !== 'visible')
          [left, right] = [Math.max(left, frame.left), Math.min(right, frame.right)]
        if (overflowY !== 'visible')
          [top, bottom] = [Math.max(top, frame.top), Math.min(bottom, frame.bottom)]
      }
      return right > left && bottom > top
        ? new DOMRect(left, top, right - left, bottom - top)
        : null
    }

    /** An ellipsis or a scroll bar says that there is more. */
    function isCutOff(box: DOMRect, element: Element): boolean {
      for (let parent: Element | null = element; parent; parent = parent.parentElement) {
        const { overflowX, textOverflow, webkitLineClamp } = getComputedStyle(parent)
        const isAnnounced = textOverflow === 'ellipsis' || webkitLineClamp !== 'none'
        if (isAnnounced || ['auto', 'scroll'].includes(overflowX)) return false
        const { left, right } = parent.getBoundingClientRect()
        if (overflowX !== 'visible' && (box.right > right + 1 || box.left < left - 1)) return true
      }
      return false
    }

    function limitOf(element: Element): number {
      let limit = clientWidth
      for (let parent: Element | null = element; parent; parent = parent.parentElement) {
        const { overflowX, display } = getComputedStyle(parent)
        if (overflowX !== 'visible') return Number.POSITIVE_INFINITY
        if (!['inline', 'contents'].includes(display))
          limit = Math.min(limit, parent.getBoundingClientRect().right)
      }
      return limit
    }

    function isForReadersOnly(element: Element): boolean {
      for (let parent: Element | null = element; parent; parent = parent.parentElement)
        if (parent.clientWidth === 1) return true
      return false
    }
  })
}
