import { z } from 'zod'
import type { Bank } from './bank.ts'
import { makeHexId } from './formats.ts'
import { readFlag, selectPage } from './lists.ts'
import type { Location } from './records.ts'
import { Refusal } from './refusal.ts'
import { type Call, type Reply, type Route, readBody } from './route.ts'

export const HOST = 'pix.example.test'

export const LOCATION_ROUTES: Route[] = [
  { method: 'POST', path: '/v2/loc', scope: 'payloadlocation.write', handle: createLocation },
  { method: 'GET', path: '/v2/loc', scope: 'payloadlocation.read', handle: listLocations },
  { method: 'GET', path: '/v2/loc/:id', scope: 'payloadlocation.read', handle: readLocation },
  {
    method: 'DELETE',
    path: '/v2/loc/:id/txid',
    scope: 'payloadlocation.write',
    handle: unlinkLocation,
  },
]

const LOCATION_BODY = z.strictObject({ tipoCob: z.enum(['cob', 'cobv']) })

export function addLocation(bank: Bank, tipoCob: Location['tipoCob'], txid?: string): Location {
  const id = bank.locations.size + 1
  const location = `${HOST}/qr/v2/${makeHexId()}`
  const added = { id, location, tipoCob, createdAt: bank.now(), txid }
  bank.locations.set(id, added)
  return added
}

/** Renders a location without its charge. */
export function renderLocation({ id, location, tipoCob, createdAt }: Location) {
  return { id, location, tipoCob, criacao: createdAt.toISOString() }
}

function createLocation(bank: Bank, { body }: Call): Reply {
  const { tipoCob } = readBody(LOCATION_BODY, body, 'locationInvalid')
  return { status: 201, body: renderLocation(addLocation(bank, tipoCob)) }
}

function readLocation(bank: Bank, call: Call): Reply {
  const location = findLocation(bank, call)
  return { status: 200, body: { ...renderLocation(location), txid: location.txid } }
}

function unlinkLocation(bank: Bank, call: Call): Reply {
  const location = findLocation(bank, call)
  location.txid = undefined
  return { status: 200, body: renderLocation(location) }
}

function findLocation(bank: Bank, { params }: Call): Location {
  const location = bank.locations.get(Number(params.id))
  if (!location) throw new Refusal('locationNotFound', 'There is no location with this id')
  return location
}

function listLocations(bank: Bank, call: Call): Reply {
  const refusal = 'locationQueryInvalid'
  const txIdPresente = readFlag(call, 'txIdPresente', refusal)
  const tipoCob = call.query.get('tipoCob') ?? undefined
  const { parametros, records } = selectPage(bank, call, {
    records: [...bank.locations.values()].filter(
      ({ txid, ...location }) =>
        (txIdPresente === undefined || txIdPresente === (txid !== undefined)) &&
        (tipoCob === undefined || tipoCob === location.tipoCob),
    ),
    timeOf: ({ createdAt }) => createdAt,
    filters: { txIdPresente, tipoCob },
    refusal,
  })
  const rendered = records.map(location => ({ ...renderLocation(location), txid: location.txid }))
  const name = bank.settings.kind === 'efi' ? 'locs' : 'loc'
  return { status: 200, body: { parametros, [name]: rendered } }
}
