import type { GatewayResult, ReceivedPayment } from '#lib/banks/gateway.ts'
import type { Listing } from '#lib/banks/lists.ts'
import type { Registration } from '#lib/banks/notice.ts'
import { type Call, type CallOptions, callLocally, journalCall } from '#lib/banks/record-call.ts'
import type { ServedConnection } from '#lib/banks/served.ts'
import type { StatementRead } from '#lib/banks/statement.ts'

type List<Item> = (
  since: Date,
  cursor: string | null,
  signal: AbortSignal,
) => Promise<GatewayResult<Listing<Item>>>

type CallParts<Value> = Pick<Call<Value>, 'part' | 'hidden' | 'isCheck' | 'isList'>

/**
 * Journals calls about no account in the same way as those about one. Lists and the registration are
 * undefined if the gateway has none.
 */
export function withConnectionJournal(connection: Connected, options: CallOptions = {}) {
  const { gateway } = connection
  const call = callerOf(connection, options)
  const listCall = <Item>(operation: Call<unknown>['operation'], list: List<Item> | undefined) =>
    list &&
    ((since: Date, cursor: string | null) =>
      call(operation, signal => list.call(gateway, since, cursor, signal), {
        ...{ request: { since }, part: summarizePage, isList: true },
      }))
  const { registerWebhook, listWebhooks, checkSettings, readStatement } = gateway
  const { getBalance, getPayment } = gateway
  return {
    /** Pages ask for it: a look at one must not let the connection rest. */
    getBalance:
      getBalance &&
      (() => call('getBalance', signal => getBalance.call(gateway, signal), { isList: true })),
    /** `make` replaces the check by a longer one. */
    checkHealth: (make = (signal: AbortSignal) => gateway.checkHealth(signal)) =>
      call('checkHealth', make, { isCheck: true }),
    registerWebhook:
      registerWebhook &&
      ((address: string, registration?: Registration) =>
        call('registerWebhook', s => registerWebhook.call(gateway, address, s, registration), {
          ...{ request: { host: new URL(address).host }, hidden: hideAddress(address) },
        })),
    checkSettings:
      checkSettings &&
      ((corrects: boolean) =>
        call('checkSettings', signal => checkSettings.call(gateway, corrects, signal), {
          part: countItems,
        })),
    listWebhooks:
      listWebhooks &&
      (() =>
        call('listWebhooks', signal => listWebhooks.call(gateway, signal), { part: countItems })),
    readStatement:
      readStatement &&
      ((day: string, cursor: string | null) =>
        call('readStatement', signal => readStatement.call(gateway, day, cursor, signal), {
          ...{ request: { day }, part: summarizeStatement },
        })),
    getPayment:
      getPayment &&
      ((endToEndId: string) =>
        call('getPayment', signal => getPayment.call(gateway, endToEndId, signal), {
          ...{ request: { endToEndId }, part: countPayment, isList: true },
        })),
    listPayments: listCall('listPayments', gateway.listPayments),
    listReturnedPayments: listCall('listReturnedPayments', gateway.listReturnedPayments),
    listSentPayouts: listCall('listSentPayouts', gateway.listSentPayouts),
    listTakenPayouts: listCall('listTakenPayouts', gateway.listTakenPayouts),
    listTakenRefunds: listCall('listTakenRefunds', gateway.listTakenRefunds),
    listDisputes: listCall('listDisputes', gateway.listDisputes),
  }
}

type Connected = Pick<ServedConnection, 'id' | 'gateway'>

function callerOf({ id: connectionId, gateway }: Connected, options: CallOptions) {
  const subject = { accountId: null, id: null, mode: null, connectionId }
  return <Value>(
    operation: Call<Value>['operation'],
    make: Call<Value>['make'],
    { request = {}, ...parts }: { request?: object } & CallParts<Value> = {},
  ) => {
    if (gateway.local) return callLocally(options, make)
    const journaled = { operation, subjectIds: [], request: () => request, make, ...parts }
    return journalCall(gateway, [subject], journaled, options)
  }
}

/** Returns replacements for an address for notices: all but its host is secret. */
export function hideAddress(address: string): Record<string, string> {
  const { host, pathname, search } = new URL(address)
  return { [address]: host, [pathname + search]: '/***' }
}

function countItems({ length: count }: unknown[]): object {
  return { count }
}

/** Who paid is not journaled. */
function countPayment(found: ReceivedPayment | null): object {
  return { count: found === null ? 0 : 1 }
}

/** A page can have a thousand items, and each of them leads to a row of its own. */
function summarizePage({ items, nextCursor }: Listing<unknown>): object {
  return { count: items.length, isLastPage: nextCursor === null }
}

/** A statement has a record for each movement of a day, and some name persons. */
function summarizeStatement(read: StatementRead): object {
  if (read.state !== 'ready') return read
  const { entries, unread } = read.statement
  return { state: read.state, count: entries.length, unreadCount: unread.length }
}
