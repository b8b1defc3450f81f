import {
  Activity,
  ArrowLeftRight,
  ArrowUpRight,
  BookOpen,
  Building2,
  ChartLine,
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
  Route,
  Scale,
  ScrollText,
  Settings2,
  ShieldAlert,
  ShieldCheck,
  Sun,
  Users,
  Webhook,
} from 'lucide-react'
import type { Locale } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { AnyPermission } from '#lib/people/roles.ts'
import type { Theme } from '#lib/session/schema.ts'
import en from '#messages/en/palette.json' with { type: 'json' }
import ptBR from '#messages/pt-BR/palette.json' with { type: 'json' }

/** Messages of all languages, because users may search in any of them. */
export const PALETTE_MESSAGES: Record<Locale, typeof en> = { en, 'pt-BR': ptBR }

export type TargetName = keyof typeof en.palette.target
type TargetAction = { theme: Theme } | 'language' | 'signOut'

export interface PaletteTarget {
  name: TargetName
  icon: LucideIcon
  /** Page to open. If absent, `action` is run. */
  href?: string
  needs?: AnyPermission
  action?: TargetAction
}

export function pageTargets(mode: Mode): PaletteTarget[] {
  const basePath = `/${mode}`
  return [
    { name: 'home', icon: House, href: `${basePath}/home` },
    { name: 'charges', icon: QrCode, href: `${basePath}/charges` },
    { name: 'withdrawals', icon: ArrowUpRight, href: `${basePath}/withdrawals` },
    { name: 'statement', icon: ScrollText, href: `${basePath}/statement` },
    { name: 'webhooks', icon: Webhook, href: `${basePath}/webhooks` },
    { name: 'requests', icon: ArrowLeftRight, href: `${basePath}/requests` },
    { name: 'tokens', icon: KeyRound, href: `${basePath}/settings/tokens` },
    mode === 'test'
      ? { name: 'bank', icon: Landmark, href: '/test/bank' }
      : { name: 'disputes', icon: ShieldAlert, href: '/live/disputes' },
    { name: 'settings', icon: Settings2, href: `${basePath}/settings` },
    { name: 'members', icon: Users, href: `${basePath}/settings/members` },
    { name: 'security', icon: ShieldCheck, href: `${basePath}/settings/security` },
    { name: 'audit', icon: History, href: `${basePath}/settings/audit`, needs: 'audit:read' },
    { name: 'docs', icon: BookOpen, href: '/docs' },
  ]
}

/** The operator's pages, for admins only. */
export const ADMIN_TARGETS: PaletteTarget[] = [
  { name: 'adminOverview', icon: ChartLine, href: '/admin' },
  { name: 'adminAccounts', icon: Building2, href: '/admin/accounts' },
  { name: 'adminBanks', icon: Landmark, href: '/admin/banks' },
  { name: 'adminNewBank', icon: Plus, href: '/admin/banks/new' },
  { name: 'adminReconciliation', icon: Scale, href: '/admin/reconciliation' },
  { name: 'adminDisputes', icon: ShieldAlert, href: '/admin/disputes' },
  { name: 'adminPeople', icon: Users, href: '/admin/people' },
  { name: 'adminTokens', icon: KeyRound, href: '/admin/tokens' },
  { name: 'adminAudit', icon: History, href: '/admin/audit' },
  { name: 'adminTrace', icon: Route, href: '/admin/trace' },
  { name: 'adminHealth', icon: Activity, href: '/admin/health' },
]

export function actionTargets(mode: Mode): PaletteTarget[] {
  const basePath = `/${mode}`
  const [name, otherMode] =
    mode === 'test' ? (['toLive', 'live'] as const) : (['toTest', 'test'] as const)
  return [
    { name: 'newCharge', icon: Plus, href: `${basePath}/charges/new`, needs: 'transactions:write' },
    {
      name: 'newWithdrawal',
      icon: ArrowUpRight,
      href: `${basePath}/withdrawals/new`,
      needs: 'withdrawals:write',
    },
    {
      name: 'newToken',
      icon: KeyRound,
      href: `${basePath}/settings/tokens/new`,
      needs: 'tokens:write',
    },
    { name, icon: FlaskConical, href: `/${otherMode}/home` },
    { name: 'light', icon: Sun, action: { theme: 'light' } },
    { name: 'dark', icon: Moon, action: { theme: 'dark' } },
    { name: 'system', icon: Monitor, action: { theme: 'system' } },
    { name: 'language', icon: Languages, action: 'language' },
    { name: 'signOut', icon: LogOut, action: 'signOut' },
  ]
}

/** Search synonyms in both languages, never shown. */
const SYNONYMS: Record<TargetName, string> = {
  home: 'painel saldo resumo gráfico dashboard balance overview chart',
  charges:
    'pix recebimentos vendas pagamentos transações estorno reembolso devolução exportar csv pix payments sales transactions refund export csv',
  withdrawals: 'sacar retirada transferir exportar csv payout transfer export csv',
  statement: 'lançamentos movimentações exportar csv ofx ledger entries export csv ofx',
  webhooks: 'entregas avisos destinos notificações deliveries endpoints notifications',
  requests: 'log registro erros chamadas api log errors calls api',
  tokens: 'chaves api acesso credenciais keys access credentials',
  disputes: 'med disputa defesa fraude chargeback dispute defense fraud',
  bank: 'simulador pagar testar simulator pay sandbox',
  settings:
    'ajustes preferências perfil conta fuso cidade validade preferences profile account zone city expiry',
  members: 'equipe pessoas convidar papéis team people invite roles',
  security:
    'senha 2fa duas etapas autenticador chave de acesso sessões aparelhos password two-factor authenticator passkey sessions devices',
  audit: 'registro histórico quem fez exportar log history who export',
  adminOverview: 'admin visão volume conversão latência overview volume conversion latency',
  adminAccounts: 'admin lojistas contas merchants accounts',
  adminBanks: 'admin conexões efí banks connections',
  adminNewBank: 'admin adicionar conexão banco add bank connection',
  adminReconciliation: 'admin conciliação conferência reconciliation differences diferenças',
  adminDisputes: 'admin med fraude fraud med',
  adminPeople: 'admin usuários senha redefinir users password reset',
  adminTokens: 'admin chaves keys',
  adminAudit: 'admin registro histórico log history',
  adminTrace: 'admin rastrear rastreio requisição id request webhook log',
  adminHealth: 'admin status filas workers queues jobs',
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

/** Returns whether each typed word begins a word of the target's names or synonyms. */
export function matchesTarget({ name }: PaletteTarget, typed: string): boolean {
  const names = [en, ptBR].map(({ palette }) => palette.target[name])
  const words = normalizeText([...names, SYNONYMS[name]].join(' ')).split(/[\s:]+/)
  return normalizeText(typed)
    .split(/\s+/)
    .every(typedWord => words.some(word => word.startsWith(typedWord)))
}

function normalizeText(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim()
}
