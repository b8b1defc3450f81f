import * as z from 'zod'

/** English sentences by code, with `{name}` as the placeholder of a parameter. */
export type Sentences = Record<string, string>

type Names<Sentence> = Sentence extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Names<Rest>
  : never

export type BareCodeOf<Set extends Sentences> = {
  [Code in keyof Set & string]: [Names<Set[Code]>] extends [never] ? Code : never
}[keyof Set & string]

/** A code of a closed set, with the values of its sentence's placeholders. */
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

export const factParams = z.record(z.string(), z.union([z.string(), z.number()]))

/** Returns the English sentence of a fact with its parameters filled in. */
export function sentenceOf(
  sentences: Sentences,
  { code, params }: { code: string; params: FactParams },
): string {
  return (sentences[code] ?? '').replace(/\{(\w+)\}/g, (_, name) => String(params[name] ?? ''))
}
