import * as z from 'zod'

/** English sentences by code, with placeholders `{name}` for the parameters. */
export type MessageTemplates = Record<string, string>

type PlaceholderNames<Sentence> = Sentence extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PlaceholderNames<Rest>
  : never

export type CodeWithoutParamsOf<Set extends MessageTemplates> = {
  [Code in keyof Set & string]: [PlaceholderNames<Set[Code]>] extends [never] ? Code : never
}[keyof Set & string]

/** A code of `Set`, with the values for the placeholders of its sentence. */
export type ReasonOf<Set extends MessageTemplates> =
  | { code: CodeWithoutParamsOf<Set>; params: Record<never, never> }
  | {
      [Code in Exclude<keyof Set & string, CodeWithoutParamsOf<Set>>]: {
        code: Code
        params: Record<PlaceholderNames<Set[Code]>, ReasonParam>
      }
    }[Exclude<keyof Set & string, CodeWithoutParamsOf<Set>>]

export type ReasonParam = string | number
export type ReasonParams = Record<string, ReasonParam>

export const reasonParams = z.record(z.string(), z.union([z.string(), z.number()]))

export function formatReason(
  templates: MessageTemplates,
  { code, params }: { code: string; params: ReasonParams },
): string {
  return (templates[code] ?? '').replace(/\{(\w+)\}/g, (_, name) => String(params[name] ?? ''))
}
