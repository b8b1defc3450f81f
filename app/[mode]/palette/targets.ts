import {
  ArrowUpRight,
  BookOpen,
  FlaskConical,
  History,
  House,
  KeyRound,
  Landmark,
  Languages,
  LogOut,
  type LucideIcon,
  Monitor,
  Moon,
  Plus,
  QrCode,
  ScrollText,
  Settings2,
  ShieldCheck,
  Sun,
  Users,
  Webhook,
} from 'lucide-react'
import type { Locale } from '#lib/base/locale.ts'
import type { Mode } from '#lib/base/mode.ts'
import type { Theme } from '#lib/edge/session/schema.ts'
import type { AnyPermission } from '#lib/services/people/roles.ts'
import en from '#messages/en/palette.json' with { type: 'json' }
import ptBR from '#messages/pt-BR/palette.json' with { type: 'json' }

/** Both languages are searched: users who work in two may type either word. */
export const WORDS: Record<Locale, typeof en> = { en, 'pt-BR': ptBR }

export type TargetName = keyof typeof en.palette.target
type Deed = { theme: Theme } | 'language' | 'signOut'

export interface Target {
  name: TargetName
  icon: LucideIcon
  /** The page to open; without one, `deed` is the action to run. */
  href?: string
  /** Permission required to see this target. */
  needs?: AnyPermission
  deed?: Deed
}

export function placesIn(mode: Mode): Target[] {
  const at = `/${mode}`
  return [
    { name: 'home', icon: House, href: `${at}/home` },
    { name: 'charges', icon: QrCode, href: `${at}/charges` },
    { name: 'withdrawals', icon: ArrowUpRight, href: `${at}/withdrawals` },
    { name: 'statement', icon: ScrollText, href: `${at}/statement` },
    { name: 'webhooks', icon: Webhook, href: `${at}/webhooks` },
    { name: 'tokens', icon: KeyRound, href: `${at}/settings/tokens` },
    ...(mode === 'test' ? [{ name: 'bank', icon: Landmark, href: '/test/bank' } as const] : []),
    { name: 'settings', icon: Settings2, href: `${at}/settings` },
    { name: 'members', icon: Users, href: `${at}/settings/members` },
    { name: 'security', icon: ShieldCheck, href: `${at}/settings/security` },
    { name: 'audit', icon: History, href: `${at}/settings/audit`, needs: 'audit:read' },
    { name: 'docs', icon: BookOpen, href: '/docs' },
  ]
}

export function actionsIn(mode: Mode): Target[] {
  const at = `/${mode}`
  const [name, other] =
    mode === 'test' ? (['toLive', 'live'] as const) : (['toTest', 'test'] as const)
  return [
    { name: 'newCharge', icon: Plus, href: `${at}/charges/new`, needs: 'transactions:write' },
    {
      name: 'newWithdrawal',
      icon: ArrowUpRight,
      href: `${at}/withdrawals/new`,
      needs: 'withdrawals:write',
    },
    { name: 'newToken', icon: KeyRound, href: `${at}/settings/tokens/new`, needs: 'tokens:write' },
    { name, icon: FlaskConical, href: `/${other}/home` },
    { name: 'light', icon: Sun, deed: { theme: 'light' } },
    { name: 'dark', icon: Moon, deed: { theme: 'dark' } },
    { name: 'system', icon: Monitor, deed: { theme: 'system' } },
    { name: 'language', icon: Languages, deed: 'language' },
    { name: 'signOut', icon: LogOut, deed: 'signOut' },
  ]
}

/** Search synonyms in both languages, never shown. */
const ALSO: Record<TargetName, string> = {
  home: 'painel saldo resumo gráfico dashboard balance overview chart',
  charges: 'pix recebimentos vendas pagamentos transações pix payments sales transactions',
  withdrawals: 'sacar retirada transferir payout transfer',
  statement: 'lançamentos movimentações csv ofx ledger entries csv ofx',
  webhooks: 'entregas avisos destinos notificações deliveries endpoints notifications',
  tokens: 'chaves api acesso credenciais keys access credentials',
  bank: 'simulador pagar testar simulator pay sandbox',
  settings:
    'ajustes preferências perfil conta fuso cidade validade preferences profile account zone city expiry',
  members: 'equipe pessoas convidar papéis team people invite roles',
  security:
    'senha autenticador chave de acesso sessões aparelhos password authenticator passkey sessions devices',
  audit: 'registro histórico quem fez log history who',
  docs: 'referência openapi ajuda documentation openapi help',
  newCharge: 'criar cobrar pix qr create pix qr',
  newWithdrawal: 'sacar solicitar novo retirar withdraw payout new',
  newToken: 'novo chave api new key api',
  toLive: 'live produção real production real',
  toTest: 'teste sandbox sandbox',
  light: 'aparência dia appearance day',
  dark: 'aparência noite appearance night',
  system: 'aparência automático appearance automatic',
  language: 'idioma língua português idiom english',
  signOut: 'logout encerrar sessão logout leave session',
}

/** Returns whether each typed word is the start of a word of the target, in either language. */
export function fits({ name }: Target, typed: string): boolean {
  const names = [en, ptBR].map(({ palette }) => palette.target[name])
  const words = fold([...names, ALSO[name]].join(' ')).split(/[\s:]+/)
  return fold(typed)
    .split(/\s+/)
    .every(part => words.some(word => word.startsWith(part)))
}

function fold(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim()
}
