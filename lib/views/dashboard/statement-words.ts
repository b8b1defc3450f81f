import { maskPixKey } from '#lib/base/pix/pix-key.ts'
import type { StatementRow } from '#lib/views/dashboard/schema.ts'
import en from '#messages/en/statement.json' with { type: 'json' }
import ptBR from '#messages/pt-BR/statement.json' with { type: 'json' }

/** The languages that a file can be had in, with the words of the page that it is taken from. */
export const STATEMENT_WORDS = { 'pt-BR': ptBR.statement, en: en.statement }
export type StatementLocale = keyof typeof STATEMENT_WORDS

/** Whom a movement was with, as far as a list may show it. */
export function counterpart({ client_name, pix_key_type, dict_key }: StatementRow): string {
  return client_name ?? (pix_key_type && dict_key ? maskPixKey(pix_key_type, dict_key) : '')
}
