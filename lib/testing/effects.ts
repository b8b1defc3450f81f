import * as z from 'zod'
import type { Effect } from '#lib/http/declaration.ts'
import type { Audience } from '#lib/http/endpoint.ts'
import { loadRoutes } from '#lib/http/routes.ts'
import {
  type AnyPermission,
  hasPermission,
  isForPagesOnly,
  PERMISSIONS,
  type Permission,
  ROLES,
  type Role,
} from '#lib/people/roles.ts'

/** An operation as its route declares it. */
export interface Operation {
  name: string
  method: string
  path: string
  audience: 'account' | Audience
  allow: AnyPermission[]
  effect: Effect | undefined
  /** Whether the response contains documents, in full for some tokens. */
  returnsDocuments: boolean
}

export async function readOperations(): Promise<Operation[]> {
  return (await loadRoutes()).flatMap(({ segments, handlers }) =>
    [...handlers]
      .filter(([method]) => method !== 'HEAD')
      .map(([method, { declared, accountlessDeclaration: accountless }]) => {
        const path = `/${segments.join('/')}`
        const { response, effect } = accountless ?? declared
        const json = JSON.stringify(z.toJSONSchema(response, { unrepresentable: 'any' }))
        return {
          name: `${method} ${path}`,
          method,
          path,
          effect,
          audience: accountless?.audience ?? 'account',
          allow: declared ? [declared.allow].flat() : [],
          returnsDocuments: /"(client|owner)_doc"/.test(json),
        }
      }),
  )
}

export type Caller =
  | { kind: 'member'; role: Role }
  | { kind: 'token'; permissions: readonly Permission[] }
  | { kind: 'person' | 'admin' | 'visitor' }

/** The rules of authority. Without one, the search finds the hole that the rule closes. */
export interface Rules {
  /** A member issues only tokens within their role. */
  newToken: boolean
  /** A member rotates only tokens within their role. */
  tokenValue: boolean
  /** A receiver gets full documents only from callers who may read them. */
  receiver: boolean
  /** An admin ends only what another admin proposed. */
  end: boolean
}
export const RULES: Rules = { newToken: true, tokenValue: true, receiver: true, end: true }

export function mayCall({ audience, allow }: Operation, caller: Caller): boolean {
  if (audience === 'visitor') return true
  if (audience === 'admin') return caller.kind === 'admin'
  if (audience === 'person') return !['token', 'visitor'].includes(caller.kind)
  if (caller.kind === 'member') return allow.some(name => hasPermission(caller.role, name))
  if (caller.kind !== 'token' || allow.every(isForPagesOnly)) return false
  return allow.some(name => (caller.permissions as readonly string[]).includes(name))
}

function holds(caller: Caller, permission: Permission): boolean {
  if (caller.kind === 'member') return hasPermission(caller.role, permission)
  return caller.kind === 'token' && caller.permissions.includes(permission)
}

/** A token that another one created creates none itself. */
function grants(caller: Caller, permission: Permission): boolean {
  return holds(caller, permission) && !(caller.kind === 'token' && permission === 'tokens:write')
}

export type Choice = Permission | Role | 'full' | 'masked' | ProposalChoice | null
type ProposalChoice = 'own proposal' | 'proposal of another'

/** What the caller of an operation with this effect may choose. */
export function choicesOf({ effect }: Pick<Operation, 'effect'>): readonly Choice[] {
  if (effect === 'new_token' || effect === 'token_value') return PERMISSIONS
  if (effect === 'invitation' || effect === 'role' || effect === 'joining') return ROLES
  if (effect === 'end') return ['own proposal', 'proposal of another']
  return effect === 'receiver' ? ['full', 'masked'] : [null]
}

/** Returns whether the server grants a caller, who may call the operation, the choice. */
export function isGranted(
  { effect }: Operation,
  caller: Caller,
  choice: Choice,
  rules = RULES,
): boolean {
  if (effect === 'new_token') return !rules.newToken || grants(caller, choice as Permission)
  if (effect === 'token_value') return !rules.tokenValue || grants(caller, choice as Permission)
  if (choice === 'own proposal') return !rules.end
  if (choice === 'full') return !rules.receiver || holds(caller, 'payers:read')
  return true
}
