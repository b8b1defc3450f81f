/** Lower-cases A to Z only: other foldings can turn two different texts into one. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, letter => letter.toLowerCase())
}
