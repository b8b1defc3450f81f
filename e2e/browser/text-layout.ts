import type { Page } from 'playwright/test'

/**
 * Lists texts that cannot be read: outside a block that contains them, over another text, under a
 * bar at the side, cut off without an ellipsis, shortened to a few letters, or broken into a
 * column of them.
 */
export function findUnreadable(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    interface Line {
      text: string
      element: Element
      layer: Element
      box: DOMRect
    }

    /** A box that is smaller than the line by the space above and below its letters. */
    const lettersOf = ({ x, y, width, height }: DOMRect) =>
      new DOMRect(x, y + height * 0.25, width, height * 0.5)
    const startOf = (text: string) => text.trim().slice(0, 60)

    const { scrollWidth, clientWidth, clientHeight } = document.documentElement
    const found = scrollWidth > clientWidth ? [`the page is ${scrollWidth} px wide`] : []
    const lines: Line[] = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement
      const text = node.textContent ?? ''
      if (!text.trim() || !element?.checkVisibility() || isForReadersOnly(element)) continue
      const range = document.createRange()
      range.selectNodeContents(node)
      // Elements above the top of the page, such as a copy for measuring, are invisible.
      const boxes = [...range.getClientRects()].filter(
        ({ width, bottom }) => width > 1 && bottom + scrollY > 0,
      )
      if (boxes.some(box => isOutside(box, element))) found.push(`outside: ${startOf(text)}`)
      if (boxes.length >= 4 && text.trim().length / boxes.length < 6)
        found.push(`in a column: ${startOf(text)}`)
      if (boxes.some(box => isCutOff(box, element))) found.push(`cut off: ${startOf(text)}`)
      if (boxes.some(box => isStub(box, element)))
        found.push(`shortened to a few letters: ${startOf(text)}`)
      for (const box of boxes) {
        const visible = clip(lettersOf(box), element)
        if (visible) lines.push({ text, element, layer: layerOf(element), box: visible })
      }
    }
    const sideBars = [...document.body.querySelectorAll('*')].filter(isSideBar)
    for (const [index, one] of lines.entries()) {
      for (const other of lines.slice(index + 1))
        if (one.element !== other.element && one.layer === other.layer && meet(one.box, other.box))
          found.push(`over each other: ${startOf(one.text)} | ${startOf(other.text)}`)
      if (one.layer === document.body && sideBars.some(bar => isUnder(one.box, bar)))
        found.push(`under a bar: ${startOf(one.text)}`)
    }
    return [...new Set(found)]

    function meet(one: DOMRect, other: DOMRect): boolean {
      const width = Math.min(one.right, other.right) - Math.max(one.x, other.x)
      const height = Math.min(one.bottom, other.bottom) - Math.max(one.y, other.y)
      return width > 1 && height > 1
    }

    function isUnder(box: DOMRect, bar: Element): boolean {
      const { x, width } = bar.getBoundingClientRect()
      return meet(box, new DOMRect(x, box.y, width, box.height))
    }

    /** The element and its ancestors, up to one that is placed in the window. */
    function around(element: Element): Element[] {
      const elements = [element]
      for (let last = element; last.parentElement; last = last.parentElement) {
        if (getComputedStyle(last).position === 'fixed') break
        elements.push(last.parentElement)
      }
      return elements
    }

    /** The nearest ancestor that floats above the page: its texts may cover those of the page. */
    function layerOf(element: Element): Element {
      for (let parent: Element | null = element; parent; parent = parent.parentElement)
        if (['fixed', 'sticky'].includes(getComputedStyle(parent).position)) return parent
      return document.body
    }

    /** A fixed box as tall as the window: no scrolling moves a text out from under it. */
    function isSideBar(element: Element): boolean {
      const { width, height } = element.getBoundingClientRect()
      const isTall = width < clientWidth && height >= clientHeight
      return isTall && getComputedStyle(element).position === 'fixed' && element.checkVisibility()
    }

    /** The part of the text that no ancestor clips; null if it is clipped entirely. */
    function clip(box: DOMRect, element: Element): DOMRect | null {
      let [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom]
      for (const parent of around(element)) {
        const { overflowX, overflowY } = getComputedStyle(parent)
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

    /** An ellipsis or a scroll bar says that there is more. A dialog may scroll down, not sideways. */
    function isCutOff(box: DOMRect, element: Element): boolean {
      for (const parent of around(element)) {
        const { overflowX, textOverflow, webkitLineClamp } = getComputedStyle(parent)
        const canScroll = ['auto', 'scroll'].includes(overflowX) && parent.role !== 'dialog'
        if (canScroll || textOverflow === 'ellipsis' || webkitLineClamp !== 'none') return false
        const { left, right } = parent.getBoundingClientRect()
        if (overflowX !== 'visible' && (box.right > right + 1 || box.left < left - 1)) return true
      }
      return false
    }

    /** An ellipsis says that there is more, but what it leaves says nothing. */
    function isStub(box: DOMRect, element: Element): boolean {
      for (const parent of around(element)) {
        const { textOverflow, paddingRight, fontSize } = getComputedStyle(parent)
        const end = parent.getBoundingClientRect().right - Number.parseFloat(paddingRight)
        if (textOverflow === 'ellipsis' && box.right > end + 1)
          return end - box.left < 5 * Number.parseFloat(fontSize)
      }
      return false
    }

    /** Past an edge of a block around it, unless one of them cuts off or scrolls. */
    function isOutside(box: DOMRect, element: Element): boolean {
      let [left, right] = [Number.NEGATIVE_INFINITY, clientWidth]
      for (const parent of around(element)) {
        const { overflowX, display } = getComputedStyle(parent)
        if (overflowX !== 'visible') return false
        if (['inline', 'contents'].includes(display)) continue
        const frame = parent.getBoundingClientRect()
        ;[left, right] = [Math.max(left, frame.left), Math.min(right, frame.right)]
      }
      return box.right > right + 1 || box.left < left - 1
    }

    function isForReadersOnly(element: Element): boolean {
      for (let parent: Element | null = element; parent; parent = parent.parentElement)
        if (parent.clientWidth === 1) return true
      return false
    }
  })
}
