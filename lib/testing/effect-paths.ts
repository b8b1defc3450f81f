import { Invariant } from '#lib/core/invariant.ts'
import {
  type AnyPermission,
  hasPermission,
  isPermission,
  listPermissions,
  PERMISSIONS,
  type Permission,
  ROLES,
  ROLES_BY_PERMISSION,
  type Role,
} from '#lib/people/roles.ts'
import {
  type Caller,
  type Choice,
  choicesOf,
  isGranted,
  mayCall,
  type Operation,
  RULES,
  type Rules,
} from '#lib/testing/effects.ts'

/** What an attacker may hold. A link gives its role; a receiver is a URL to which events are sent. */
type Item =
  | `session ${Role}`
  | `token ${Permission}`
  | `link ${Role}`
  | 'full receiver'
  | 'masked receiver'
  | 'admin'
  | 'second admin'
  | 'end proposal'
const ITEMS: readonly Item[] = [
  ...ROLES.map(role => `session ${role}` as const),
  ...PERMISSIONS.map(name => `token ${name}` as const),
  ...ROLES.map(role => `link ${role}` as const),
  'full receiver',
  'masked receiver',
  'admin',
  'second admin',
  'end proposal',
]

/** Something that nobody may reach without a right to it. */
type Reached = Item | 'withdrawal' | 'refund' | 'document' | 'membership' | 'end'
const REACHED: readonly Reached[] = [
  ...ITEMS,
  'withdrawal',
  'refund',
  'document',
  'membership',
  'end',
]
const BITS = new Map(REACHED.map((one, index) => [one, 1 << index]))

/** The items held, one bit each. All tokens count as one with all their permissions. */
type State = number

const bitOf = (one: Reached) => BITS.get(one) ?? 0
const bitsOf = (list: readonly Reached[]) => list.reduce((bits, one) => bits | bitOf(one), 0)
const listOf = (bits: number) => REACHED.filter(one => (bits & bitOf(one)) !== 0)
export const stateOf = (...items: Item[]): State => bitsOf(items)
const holds = (state: State, item: Item) => (state & bitOf(item)) !== 0

interface Step {
  grant: Grant
  next: State
  /** Bits of what the step reaches. */
  reached: number
}

const callers = new Map<State, Caller[]>()
const TOKENS = bitsOf(PERMISSIONS.map(name => `token ${name}` as const))
const SESSIONS = bitsOf(ROLES.map(role => `session ${role}` as const))
const ADMIN = bitOf('admin')
const EVERYTHING = bitsOf(REACHED)
/** Items that only staff can hold, and effects that only staff can reach. */
const STAFF = bitsOf(['admin', 'second admin', 'end proposal', 'end'])

/** Returns the same list for all states with the same callers, so that what it may do is kept by it. */
function callersOf(state: State): Caller[] {
  const items = state & (TOKENS | SESSIONS | ADMIN)
  const known = callers.get(items)
  if (known) return known
  const permissions = PERMISSIONS.filter(name => holds(state, `token ${name}`))
  const roles = ROLES.filter(role => holds(state, `session ${role}`))
  const found: Caller[] = [
    ...roles.map(role => ({ kind: 'member' as const, role })),
    ...(permissions.length > 0 ? [{ kind: 'token' as const, permissions }] : []),
    { kind: holds(state, 'admin') ? 'admin' : 'person' },
    { kind: 'visitor' },
  ]
  callers.set(items, found)
  return found
}

/** Returns what a granted call adds to the state and what it reaches at once. */
function effectOf(
  state: State,
  { effect, returnsDocuments }: Operation,
  caller: Caller,
  choice: Choice,
): { gained?: Item; reached?: Reached } {
  switch (effect) {
    case 'withdrawal':
    case 'refund':
    case 'document':
      return { reached: effect }
    case 'end_proposal':
      return { gained: 'end proposal' }
    case 'end':
      return holds(state, 'end proposal') &&
        (choice === 'own proposal' || holds(state, 'second admin'))
        ? { reached: 'end' }
        : {}
    case 'new_token':
    case 'token_value':
      return { gained: `token ${choice as Permission}` }
    case 'receiver':
      return choice === 'full'
        ? { gained: 'full receiver', reached: 'document' }
        : { gained: 'masked receiver' }
    case 'invitation':
      return { gained: `link ${choice as Role}`, reached: 'membership' }
    case 'role':
      return { gained: `session ${choice as Role}`, reached: 'membership' }
    case 'joining':
      return holds(state, `link ${choice as Role}`) ? { gained: `session ${choice as Role}` } : {}
    case 'removal':
      return { reached: 'membership' }
    case 'none':
    case undefined: {
      const readsFully = caller.kind === 'token' && caller.permissions.includes('payers:read')
      return returnsDocuments && readsFully ? { reached: 'document' } : {}
    }
    default:
      throw new Invariant(`the effect ${effect satisfies never} has no meaning in the graph`)
  }
}

interface Grant {
  operation: Operation
  caller: Caller
  choice: Choice
}

/** What a search walks: what callers are granted, and permissions that a token may have. */
interface Ground {
  grantsOf: (callers: readonly Caller[]) => readonly Grant[]
  permissions: readonly Permission[]
}

function* stepsFrom(state: State, { grantsOf }: Ground): Generator<Step> {
  for (const grant of grantsOf(callersOf(state))) {
    const { gained, reached } = effectOf(state, grant.operation, grant.caller, grant.choice)
    if (!gained && !reached) continue
    const gainedBit = gained ? bitOf(gained) : 0
    const reachedBits = gainedBit | (reached ? bitOf(reached) : 0)
    yield { grant, next: state | gainedBit, reached: reachedBits }
  }
}

const nameOf = ({ operation, choice }: Grant) =>
  choice ? `${operation.name} (${choice})` : operation.name

const rights = new Map<State, number>()

/** Returns the bits of what the items of a state entitle to. */
function rightsOf(state: State): number {
  const known = rights.get(state)
  if (known) return known
  const roles = ROLES.filter(
    role => holds(state, `session ${role}`) || holds(state, `link ${role}`),
  )
  const tokens = PERMISSIONS.filter(name => holds(state, `token ${name}`))
  const all = new Set<AnyPermission>([...tokens, ...roles.flatMap(listPermissions)])
  const isOwner = roles.some(role => hasPermission(role, 'members:write'))
  const mayRead = all.has('payers:read') || all.has('documents:reveal')
  const found = bitsOf([
    ...ITEMS.filter(item => holds(state, item)),
    ...PERMISSIONS.filter(name => all.has(name)).map(name => `token ${name}` as const),
    ...roles.map(role => `session ${role}` as const),
    ...(all.has('webhooks:write') || all.has('transactions:write')
      ? ['masked receiver' as const]
      : []),
    ...(all.has('withdrawals:write') ? ['withdrawal' as const] : []),
    ...(all.has('refunds:write') ? ['refund' as const] : []),
    ...(mayRead ? (['document', 'full receiver'] as const) : []),
    ...(holds(state, 'full receiver') || holds(state, 'admin') ? ['document' as const] : []),
    ...(holds(state, 'admin') ? ['end proposal' as const] : []),
    ...(holds(state, 'admin') && holds(state, 'second admin') ? ['end' as const] : []),
    ...(isOwner
      ? (['membership', ...ITEMS.filter(item => /^(link|session)/.test(item))] as const)
      : []),
  ])
  rights.set(state, found)
  return found
}

/**
 * Keeps what a search needs. Permissions that no operation left needs, and that the same roles hold,
 * behave alike: one stands for all, because each more doubles the states.
 */
function surveyGround(all: readonly Operation[], rules: Rules, wanted?: Reached): Ground {
  const operations = all.filter(
    ({ effect, returnsDocuments }) => (effect ?? 'none') !== 'none' || returnsDocuments,
  )
  const isNeeded = (name: Permission) =>
    name === 'payers:read' ||
    wanted === `token ${name}` ||
    operations.some(({ allow }) => allow.includes(name))
  const rolesOf = (name: Permission) => ROLES_BY_PERMISSION[name].join()
  const others = PERMISSIONS.filter(name => !isNeeded(name))
  const permissions = PERMISSIONS.filter(
    name => isNeeded(name) || others.find(one => rolesOf(one) === rolesOf(name)) === name,
  )
  const mayChoose = (choice: Choice) =>
    !isPermission(String(choice)) || permissions.includes(choice as Permission)
  const listGrants = (callers: readonly Caller[]): Grant[] =>
    operations.flatMap(operation =>
      callers
        .filter(caller => mayCall(operation, caller))
        .flatMap(caller =>
          choicesOf(operation)
            .filter(choice => mayChoose(choice) && isGranted(operation, caller, choice, rules))
            .map(choice => ({ operation, caller, choice })),
        ),
    )
  const granted = new Map<readonly Caller[], Grant[]>()
  const grantsOf = (callers: readonly Caller[]) => {
    const grants = granted.get(callers) ?? listGrants(callers)
    granted.set(callers, grants)
    return grants
  }
  return { grantsOf, permissions }
}

/** Returns the shortest path from a state to something that it has no right to, if there is one. */
export function findPath(
  start: State,
  wanted: Reached,
  operations: readonly Operation[],
  rules = RULES,
): string[] | undefined {
  const ground = surveyGround(operations, rules, wanted)
  const wantedBit = bitOf(wanted) & ~rightsOf(start)
  const paths = new Map<State, string[]>([[start, []]])
  for (const [state, path] of paths)
    for (const { grant, next, reached } of stepsFrom(state, ground)) {
      if ((reached & wantedBit) !== 0) return [...path, nameOf(grant)]
      if (!paths.has(next)) paths.set(next, [...path, nameOf(grant)])
    }
  return undefined
}

/** A role or none, with any tokens, at most one receiver and one link; and one admin, or two. */
function listStarts(permissions: readonly Permission[]): State[] {
  const oneOf = (states: State[], items: (Item | null)[]) =>
    states.flatMap(state => items.map(item => (item ? state | stateOf(item) : state)))
  const roles = oneOf([0], [null, ...ROLES.map(role => `session ${role}` as const)])
  const tokens = permissions.reduce((states, name) => oneOf(states, [null, `token ${name}`]), roles)
  const receivers = oneOf(tokens, [null, 'full receiver', 'masked receiver'])
  return [
    ...oneOf(receivers, [null, ...ROLES.map(role => `link ${role}` as const)]),
    stateOf('admin'),
    stateOf('admin', 'second admin'),
  ]
}

/**
 * Walks all states that the starts reach, each once, and returns the steps that reach something
 * beyond the rights of their state or add a right. No such step: no path from any state exists.
 */
export function walkStates(operations: readonly Operation[], rules = RULES) {
  const ground = surveyGround(operations, rules)
  const states = new Set(listStarts(ground.permissions))
  const gains = new Set<string>()
  let transitions = 0
  for (const state of states) {
    // Whoever has every right, as an owner has, can gain nothing.
    const unearned = ~rightsOf(state)
    if ((unearned & EVERYTHING & ~STAFF) === 0) continue
    for (const { grant, next, reached } of stepsFrom(state, ground)) {
      transitions++
      states.add(next)
      const beyond = (reached | rightsOf(next)) & unearned
      if (beyond !== 0) for (const one of listOf(beyond)) gains.add(`${nameOf(grant)}: ${one}`)
    }
  }
  return { states: states.size, transitions, gains: [...gains] }
}
