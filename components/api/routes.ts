import type { AccountlessEndpoint, Endpoint } from '#lib/http/endpoint.ts'

/** Types of all route files below app/api. Types only: a browser loads none of them. */
type RouteFile =
  | typeof import('#app/api/account/route.ts')
  | typeof import('#app/api/admin/[[...path]]/route.ts')
  | typeof import('#app/api/admin/accounts/[[...path]]/route.ts')
  | typeof import('#app/api/admin/banks/[[...path]]/route.ts')
  | typeof import('#app/api/admin/differences/[[...path]]/route.ts')
  | typeof import('#app/api/balance/history/route.ts')
  | typeof import('#app/api/dashboard/[[...path]]/route.ts')
  | typeof import('#app/api/dashboard/account/[[...path]]/route.ts')
  | typeof import('#app/api/dashboard/charges/[[...path]]/route.ts')
  | typeof import('#app/api/dashboard/members/[[...path]]/route.ts')
  | typeof import('#app/api/dashboard/webhooks/[[...path]]/route.ts')
  | typeof import('#app/api/dashboard/withdrawals/[[...path]]/route.ts')
  | typeof import('#app/api/disputes/[[...path]]/route.ts')
  | typeof import('#app/api/events/route.ts')
  | typeof import('#app/api/person/[[...path]]/route.ts')
  | typeof import('#app/api/pix/[[...path]]/route.ts')
  | typeof import('#app/api/refunds/route.ts')
  | typeof import('#app/api/requests/[[...path]]/route.ts')
  | typeof import('#app/api/sandbox/[[...path]]/route.ts')
  | typeof import('#app/api/statement.csv/route.ts')
  | typeof import('#app/api/statement/route.ts')
  | typeof import('#app/api/tokens/[[...path]]/route.ts')
  | typeof import('#app/api/transactions/[[...path]]/route.ts')
  | typeof import('#app/api/visitor/[[...path]]/route.ts')
  | typeof import('#app/api/webhooks/[[...path]]/route.ts')
  | typeof import('#app/api/withdrawals/[[...path]]/route.ts')

type TableOf<File> = File extends { [Name in keyof File]: { table: infer Table } } ? Table : never

/** Turns a union into an intersection, since what accepts each of the members accepts all. */
type Intersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never

/** All endpoints by method and path below /api. */
export type Routes = Intersection<TableOf<RouteFile>>

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Paths that have a method. */
export type PathOf<Name extends Method> = keyof Routes extends infer Key
  ? Key extends `${Name} ${infer Path}`
    ? Path
    : never
  : never

type EndpointOf<Name extends Method, Path extends string> = Routes[`${Name} ${Path}` & keyof Routes]

interface Declared<Body, Query, Answer> {
  body: Body
  query: Query
  answer: Answer
}

/** What a declaration says of the body and query that a client sends, and of the answer. */
export type DeclaredBy<Served> =
  Served extends Endpoint<infer Body, infer Query, infer Answer>
    ? Declared<Body, Query, Answer>
    : Served extends AccountlessEndpoint<infer Body, infer Query, infer Answer>
      ? Declared<Body, Query, Answer>
      : never

export type AnswerOf<Name extends Method, Path extends string> = DeclaredBy<
  EndpointOf<Name, Path>
>['answer']

export type QueryOf<Path extends PathOf<'GET'>> = DeclaredBy<EndpointOf<'GET', Path>>['query']

/** Names of the variable parts of a path: `[id]`. */
type ParamOf<Path> = Path extends `${string}[${infer Param}]${infer Rest}`
  ? Param | ParamOf<Rest>
  : never

/** A field that is absent if it has no content, and optional if its content is. */
type Field<Name extends string, Content> = [Content] extends [undefined]
  ? { [Key in Name]?: undefined }
  : Record<never, never> extends Content
    ? { [Key in Name]?: Content }
    : { [Key in Name]: Content }

type InputsOf<Name extends Method, Path extends string> = Field<
  'params',
  [ParamOf<Path>] extends [never] ? undefined : Record<ParamOf<Path>, string>
> &
  Field<'query', DeclaredBy<EndpointOf<Name, Path>>['query']> &
  Field<'body', DeclaredBy<EndpointOf<Name, Path>>['body']>

/** Options of a request, which may be omitted if none is required. */
export type OptionsOf<Name extends Method, Path extends string, More> = [
  Record<never, never>,
] extends [InputsOf<Name, Path>]
  ? [options?: InputsOf<Name, Path> & More]
  : [options: InputsOf<Name, Path> & More]
