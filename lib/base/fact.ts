import * as z from 'zod'

/** English sentences by code, with `{names}` where a fact's parameters stand. */
export type Sentences = Record<string, string>

type Names<Sentence> = Sentence extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Names<Rest>
  : never

/** The codes whose sentences name no value. */
export type BareCodeOf<Set extends Sentences> = {
  [Code in keyof Set & string]: [Names<Set[Code]>] extends [never] ? Code : never
}[keyof Set & string]

/** A code of a closed set, with the values that its sentence names. */
export type FactOf<Set extends Sentences> =
  | { code: BareCodeOf<Set>; params: Record<never, never> }
  | {
      [Code in Exclude<keyof Set & string, BareCodeOf<Set>>]: {
        code: Code
        params: Record<Names<Set[Code]>, FactParam>
      }
    }[Exclude<keyof Set & string, BareCodeOf<Set>>]

export type FactParam = string | number
export type FactParams = Record<string, FactParam>

/** The parameters of a fact on the wire of the dashboard. */
export const factParams = z.record(z.string(), z.union([z.string(), z.number()]))

/** Returns the sentence of a fact, as programs read it on the wire. */
export function sentenceOf(
  sentences: Sentences,
  { code, params }: { code: string; params: FactParams },
): string {
  return (sentences[code] ?? '').replace(/\{(\w+)\}/g, (_, name) => String(params[name] ?? ''))
}
