import type { Locale } from '#lib/core/locale.ts'
import ptDocument from '#messages/document.pt-BR.json' with { type: 'json' }
import enAdmin from '#messages/en/admin.json' with { type: 'json' }
import enApiErrors from '#messages/en/api-errors.json' with { type: 'json' }
import enAudit from '#messages/en/audit.json' with { type: 'json' }
import enBank from '#messages/en/bank.json' with { type: 'json' }
import enBanks from '#messages/en/banks.json' with { type: 'json' }
import enBase from '#messages/en/base.json' with { type: 'json' }
import enCharge from '#messages/en/charge.json' with { type: 'json' }
import enCharges from '#messages/en/charges.json' with { type: 'json' }
import enCrash from '#messages/en/crash.json' with { type: 'json' }
import enDifferences from '#messages/en/differences.json' with { type: 'json' }
import enDisputes from '#messages/en/disputes.json' with { type: 'json' }
import enHealth from '#messages/en/health.json' with { type: 'json' }
import enHome from '#messages/en/home.json' with { type: 'json' }
import enJoin from '#messages/en/join.json' with { type: 'json' }
import enMail from '#messages/en/mail.json' with { type: 'json' }
import enMembers from '#messages/en/members.json' with { type: 'json' }
import enOperator from '#messages/en/operator.json' with { type: 'json' }
import enPalette from '#messages/en/palette.json' with { type: 'json' }
import enPayer from '#messages/en/payer.json' with { type: 'json' }
import enReceipt from '#messages/en/receipt.json' with { type: 'json' }
import enReference from '#messages/en/reference.json' with { type: 'json' }
import enRefusal from '#messages/en/refusal.json' with { type: 'json' }
import enRequests from '#messages/en/requests.json' with { type: 'json' }
import enSecurity from '#messages/en/security.json' with { type: 'json' }
import enSettings from '#messages/en/settings.json' with { type: 'json' }
import enShare from '#messages/en/share.json' with { type: 'json' }
import enStatement from '#messages/en/statement.json' with { type: 'json' }
import enTokens from '#messages/en/tokens.json' with { type: 'json' }
import enTrace from '#messages/en/trace.json' with { type: 'json' }
import enWebhooks from '#messages/en/webhooks.json' with { type: 'json' }
import enWithdrawals from '#messages/en/withdrawals.json' with { type: 'json' }
import ptAdmin from '#messages/pt-BR/admin.json' with { type: 'json' }
import ptApiErrors from '#messages/pt-BR/api-errors.json' with { type: 'json' }
import ptAudit from '#messages/pt-BR/audit.json' with { type: 'json' }
import ptBank from '#messages/pt-BR/bank.json' with { type: 'json' }
import ptBanks from '#messages/pt-BR/banks.json' with { type: 'json' }
import ptBase from '#messages/pt-BR/base.json' with { type: 'json' }
import ptCharge from '#messages/pt-BR/charge.json' with { type: 'json' }
import ptCharges from '#messages/pt-BR/charges.json' with { type: 'json' }
import ptCrash from '#messages/pt-BR/crash.json' with { type: 'json' }
import ptDifferences from '#messages/pt-BR/differences.json' with { type: 'json' }
import ptDisputes from '#messages/pt-BR/disputes.json' with { type: 'json' }
import ptHealth from '#messages/pt-BR/health.json' with { type: 'json' }
import ptHome from '#messages/pt-BR/home.json' with { type: 'json' }
import ptJoin from '#messages/pt-BR/join.json' with { type: 'json' }
import ptMail from '#messages/pt-BR/mail.json' with { type: 'json' }
import ptMembers from '#messages/pt-BR/members.json' with { type: 'json' }
import ptOperator from '#messages/pt-BR/operator.json' with { type: 'json' }
import ptPalette from '#messages/pt-BR/palette.json' with { type: 'json' }
import ptPayer from '#messages/pt-BR/payer.json' with { type: 'json' }
import ptReceipt from '#messages/pt-BR/receipt.json' with { type: 'json' }
import ptReference from '#messages/pt-BR/reference.json' with { type: 'json' }
import ptRefusal from '#messages/pt-BR/refusal.json' with { type: 'json' }
import ptRequests from '#messages/pt-BR/requests.json' with { type: 'json' }
import ptSecurity from '#messages/pt-BR/security.json' with { type: 'json' }
import ptSettings from '#messages/pt-BR/settings.json' with { type: 'json' }
import ptShare from '#messages/pt-BR/share.json' with { type: 'json' }
import ptStatement from '#messages/pt-BR/statement.json' with { type: 'json' }
import ptTokens from '#messages/pt-BR/tokens.json' with { type: 'json' }
import ptTrace from '#messages/pt-BR/trace.json' with { type: 'json' }
import ptWebhooks from '#messages/pt-BR/webhooks.json' with { type: 'json' }
import ptWithdrawals from '#messages/pt-BR/withdrawals.json' with { type: 'json' }

const en = {
  ...enBase,
  ...enBank,
  ...enBanks,
  ...enCharge,
  ...enCharges,
  ...enCrash,
  ...enDisputes,
  ...enHome,
  ...enAdmin,
  ...enHealth,
  ...enAudit,
  ...enDifferences,
  ...enJoin,
  ...enMembers,
  ...enRequests,
  ...enSecurity,
  ...enOperator,
  ...enPalette,
  ...enReceipt,
  ...enSettings,
  ...enShare,
  ...enStatement,
  ...enTrace,
  ...enTokens,
  ...enWebhooks,
  ...enWithdrawals,
}
const ptBR = {
  ...ptBase,
  ...ptBank,
  ...ptBanks,
  ...ptCharge,
  ...ptCharges,
  ...ptCrash,
  ...ptDisputes,
  ...ptHome,
  ...ptAdmin,
  ...ptHealth,
  ...ptAudit,
  ...ptDifferences,
  ...ptJoin,
  ...ptMembers,
  ...ptRequests,
  ...ptSecurity,
  ...ptOperator,
  ...ptPalette,
  ...ptReceipt,
  ...ptSettings,
  ...ptShare,
  ...ptStatement,
  ...ptTrace,
  ...ptTokens,
  ...ptWebhooks,
  ...ptWithdrawals,
}

export type Messages = typeof ptBR

/** Messages of the pages. The browser is sent the namespaces that a page names, no others. */
export const MESSAGES: Record<Locale, Messages> = { 'pt-BR': ptBR, en }

export const MAIL_WORDS: Record<Locale, typeof ptMail> = { 'pt-BR': ptMail, en: enMail }
export const REFUSAL_WORDS: Record<Locale, typeof ptRefusal> = {
  'pt-BR': ptRefusal,
  en: enRefusal,
}
export const PAYER_WORDS: Record<Locale, typeof ptPayer> = { 'pt-BR': ptPayer, en: enPayer }
/** Cause and remedy of each error code of the API. */
export const API_ERROR_WORDS: Record<Locale, typeof ptApiErrors> = {
  'pt-BR': ptApiErrors,
  en: enApiErrors,
}
/** Words of the documentation's pages. */
export const REFERENCE_WORDS: Record<Locale, typeof ptReference> = {
  'pt-BR': ptReference,
  en: enReference,
}
/** Paragraphs of the OpenAPI document, by their English text. */
export const DOCUMENT_WORDS: Record<Locale, Record<string, string>> = {
  'pt-BR': ptDocument,
  en: {},
}
