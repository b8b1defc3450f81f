import { getRequestConfig } from 'next-intl/server'
import type { Locale } from '#lib/base/locale.ts'
import { currentUser } from '#lib/edge/session/gate.ts'
import { chooseAccount, readLocale } from '#lib/edge/session/preferences.ts'
import enAdmin from '#messages/en/admin.json' with { type: 'json' }
import enAudit from '#messages/en/audit.json' with { type: 'json' }
import enBank from '#messages/en/bank.json' with { type: 'json' }
import enBase from '#messages/en/base.json' with { type: 'json' }
import enCharge from '#messages/en/charge.json' with { type: 'json' }
import enCharges from '#messages/en/charges.json' with { type: 'json' }
import enCrash from '#messages/en/crash.json' with { type: 'json' }
import enHealth from '#messages/en/health.json' with { type: 'json' }
import enHome from '#messages/en/home.json' with { type: 'json' }
import enJoin from '#messages/en/join.json' with { type: 'json' }
import enMembers from '#messages/en/members.json' with { type: 'json' }
import enPalette from '#messages/en/palette.json' with { type: 'json' }
import enSecurity from '#messages/en/security.json' with { type: 'json' }
import enSettings from '#messages/en/settings.json' with { type: 'json' }
import enStatement from '#messages/en/statement.json' with { type: 'json' }
import enTokens from '#messages/en/tokens.json' with { type: 'json' }
import enWebhooks from '#messages/en/webhooks.json' with { type: 'json' }
import enWithdrawals from '#messages/en/withdrawals.json' with { type: 'json' }
import ptAdmin from '#messages/pt-BR/admin.json' with { type: 'json' }
import ptAudit from '#messages/pt-BR/audit.json' with { type: 'json' }
import ptBank from '#messages/pt-BR/bank.json' with { type: 'json' }
import ptBase from '#messages/pt-BR/base.json' with { type: 'json' }
import ptCharge from '#messages/pt-BR/charge.json' with { type: 'json' }
import ptCharges from '#messages/pt-BR/charges.json' with { type: 'json' }
import ptCrash from '#messages/pt-BR/crash.json' with { type: 'json' }
import ptHealth from '#messages/pt-BR/health.json' with { type: 'json' }
import ptHome from '#messages/pt-BR/home.json' with { type: 'json' }
import ptJoin from '#messages/pt-BR/join.json' with { type: 'json' }
import ptMembers from '#messages/pt-BR/members.json' with { type: 'json' }
import ptPalette from '#messages/pt-BR/palette.json' with { type: 'json' }
import ptSecurity from '#messages/pt-BR/security.json' with { type: 'json' }
import ptSettings from '#messages/pt-BR/settings.json' with { type: 'json' }
import ptStatement from '#messages/pt-BR/statement.json' with { type: 'json' }
import ptTokens from '#messages/pt-BR/tokens.json' with { type: 'json' }
import ptWebhooks from '#messages/pt-BR/webhooks.json' with { type: 'json' }
import ptWithdrawals from '#messages/pt-BR/withdrawals.json' with { type: 'json' }

const en = {
  ...enBase,
  ...enBank,
  ...enCharge,
  ...enCharges,
  ...enCrash,
  ...enHome,
  ...enAdmin,
  ...enHealth,
  ...enAudit,
  ...enJoin,
  ...enMembers,
  ...enSecurity,
  ...enPalette,
  ...enSettings,
  ...enStatement,
  ...enTokens,
  ...enWebhooks,
  ...enWithdrawals,
}
const ptBR = {
  ...ptBase,
  ...ptBank,
  ...ptCharge,
  ...ptCharges,
  ...ptCrash,
  ...ptHome,
  ...ptAdmin,
  ...ptHealth,
  ...ptAudit,
  ...ptJoin,
  ...ptMembers,
  ...ptSecurity,
  ...ptPalette,
  ...ptSettings,
  ...ptStatement,
  ...ptTokens,
  ...ptWebhooks,
  ...ptWithdrawals,
}

declare module 'next-intl' {
  interface AppConfig {
    Locale: Locale
    Messages: typeof ptBR
  }
}

const MESSAGES = { 'pt-BR': ptBR, en }

/** Where the house is: for visitors, and for accounts that have not said where theirs is. */
const TIME_ZONE = 'America/Sao_Paulo'

/** What next-intl asks at each request; next.config.js names this file to it. */
export default getRequestConfig(async () => {
  const [locale, user] = await Promise.all([readLocale(), currentUser()])
  const account = user && (await chooseAccount(user))
  const timeZone = account?.timeZone ?? TIME_ZONE
  return { locale, messages: MESSAGES[locale], timeZone, now: new Date() }
})
