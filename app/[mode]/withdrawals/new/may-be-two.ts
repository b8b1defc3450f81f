import { inferPixKeyType } from '#lib/base/pix/pix-key.ts'

/** Eleven digits that can be a CPF as well as a mobile phone: the money would go to a stranger. */
export function mayBeTwo(key: string): boolean {
  const read = inferPixKeyType(key, 'dict')
  return !read.ok && read.reason === 'ambiguous'
}
