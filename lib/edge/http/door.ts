import type * as z from 'zod'
import { refuse } from '#lib/base/errors.ts'
import type { ErrorCode } from '#lib/base/refusals.ts'
import { isStreamed, json, stream } from '#lib/edge/http/answer.ts'
import { parseFields, readObject, readQuery } from '#lib/edge/http/body.ts'
import { readPerson, requireOwnPage, unauthenticated, writes } from '#lib/edge/http/caller.ts'
import {
  answering,
  countAddress,
  routeOf,
  type Served,
  type Visit,
} from '#lib/edge/http/endpoint.ts'
import type { Answer, Incoming } from '#lib/edge/http/exchange.ts'
import { requireProof } from '#lib/edge/session/proof.ts'
import type { SessionUser } from '#lib/edge/session/schema.ts'
import { isSecondFactorMissing } from '#lib/services/people/factors.ts'

/** Callers of an endpoint that belongs to no account. */
export type Who = 'visitor' | 'person' | 'admin'

interface Call<Body, Query, User> {
  user: User
  body: Body
  query: Query
  params: Record<string, string>
  ip: string
  userAgent: string | null
  /** Origin of the page that sent a write, always one of this site's own. */
  origin: string
}

export interface DoorDeclaration<Body, Query, User> {
  summary: string
  body?: z.ZodType<Body>
  query?: z.ZodType<Query>
  /** Schema of the 200 response; a stream has none. */
  answer: z.ZodType
  refuses?: ErrorCode[]
  /** Requires a recent proof of identity: for actions with serious consequences. */
  takesProof?: boolean
  handle: (call: Call<Body, Query, User>) => Promise<unknown>
}

export interface Door extends Served {
  declared?: undefined
  opens: {
    who: Who
    takesProof: boolean
    answer: z.ZodType
    body?: z.ZodType
    query?: z.ZodType
  }
}

/** Declares an endpoint for visitors of the site's own pages: sign-up, sign-in help. */
export function visitorDoor<Body = undefined, Query = undefined>(
  declared: DoorDeclaration<Body, Query, null>,
): Door {
  return door('visitor', declared as DoorDeclaration<unknown, unknown, null>, async () => null)
}

export function personDoor<Body = undefined, Query = undefined>(
  declared: DoorDeclaration<Body, Query, SessionUser>,
): Door {
  return door('person', declared as DoorDeclaration<unknown, unknown, SessionUser>, requirePerson)
}

/** Declares an endpoint for the operator's staff. Others only learn that they have no access. */
export function adminDoor<Body = undefined, Query = undefined>(
  declared: DoorDeclaration<Body, Query, SessionUser>,
): Door {
  return door('admin', declared as DoorDeclaration<unknown, unknown, SessionUser>, requireStaff)
}

/** Responds 405 after the checks that a door of this kind makes. */
export function refuseAtDoor(incoming: Incoming, { who }: Door['opens'], allow: string) {
  return answering(incoming, 'field_messages', async visit => {
    await countAddress(visit)
    if (who !== 'visitor') await (who === 'admin' ? requireStaff : requirePerson)(incoming)
    return json(405, { error: 'Method not allowed' }, { allow })
  })
}

function door<User extends SessionUser | null>(
  who: Who,
  declared: DoorDeclaration<unknown, unknown, User>,
  letIn: (incoming: Incoming) => Promise<User>,
): Door {
  const takesProof = declared.takesProof ?? false
  const open = async (visit: Visit): Promise<Answer> => {
    await countAddress(visit)
    const { incoming } = visit
    const user = await letIn(incoming)
    if (writes(incoming.method)) requireOwnPage(incoming)
    if (takesProof && user) requireProof(user, null)
    const content = declared.body ? await readObject(incoming) : {}
    const body = declared.body && parseFields(declared.body, content)
    const query = declared.query && parseFields(declared.query, readQuery(incoming.url))
    const { params, ip } = incoming
    const userAgent = incoming.header('user-agent')
    const origin = incoming.header('origin') ?? ''
    const said = await declared.handle({ user, body, query, params, ip, userAgent, origin })
    return isStreamed(said) ? stream(said) : json(200, said)
  }
  const serve = (incoming: Incoming) => answering(incoming, 'field_messages', open)
  const { answer, body, query } = declared
  return Object.assign(routeOf(serve), { opens: { who, takesProof, answer, body, query } })
}

async function requirePerson(incoming: Incoming): Promise<SessionUser> {
  const user = await readPerson(incoming)
  if (!user) throw unauthenticated()
  return user
}

async function requireStaff(incoming: Incoming): Promise<SessionUser> {
  const user = await requirePerson(incoming)
  if (!user.isAdmin) throw refuse('not_found')
  if (isSecondFactorMissing(user)) {
    throw refuse('second_factor_required')
  }
  return user
}
