import { readFileSync } from 'node:fs'

const themeCss = readFileSync(new URL('../../app/colors.css', import.meta.url), 'utf8')

/** The colors as variables of CSS: Tailwind's theme without what it says to Tailwind. */
export const COLORS_CSS = themeCss.replace(/@theme static \{\s+--color-\*: initial;/, ':root {')

/**
 * The colors that a style uses as `var(--color-…)`, for browsers that do not know `light-dark()` either. They
 * follow the browser's choice, not the dashboard's.
 */
export function plainColorsCss(style: string): string {
  const colors = [...themeCss.matchAll(/(--color-[\w-]+): light-dark\(([^,]+), (.+)\);/g)]
  const used = colors.filter(([, name]) => style.includes(`var(${name})`))
  const write = (theme: 2 | 3) => used.map(color => `${color[1]}:${color[theme]}`).join(';')
  return `:root{color-scheme:light dark;${write(2)}}@media(prefers-color-scheme:dark){:root{${write(3)}}}`
}
