import { gzipSync } from 'node:zlib'
import { ALMOST_VALID } from '#e2e/fuzz/hostile-almost-valid.ts'
import { HOSTILE_KEYS, randomValue } from '#e2e/fuzz/hostile-values.ts'
import type { JsonFields } from '#e2e/fuzz/valid-request.ts'
import type { Random } from '#lib/testing/random.ts'

const TEN_MB = 10 * 1024 * 1024

/** Changes, removes, duplicates or adds a field. */
export function mutateFields(validFields: JsonFields, random: Random): JsonFields {
  const fields: JsonFields = validFields.length > 0 ? validFields : [['"amount"', '1500']]
  const position = random.between(0, fields.length - 1)
  const [key, value] = fields[position] as JsonFields[number]
  const almostValid = ALMOST_VALID.get(key.slice(1, -1))
  const replacement =
    almostValid && random.chance(0.5) ? random.pick(almostValid) : randomValue(random)
  switch (random.between(0, 7)) {
    case 0:
      return fields.filter((_, index) => index !== position)
    case 1:
      return [...fields, [key, replacement]]
    case 2:
      return [[key, replacement], ...fields]
    case 3:
      return [...fields, [random.pick(HOSTILE_KEYS), random.chance(0.5) ? value : replacement]]
    case 4:
      return fields.with(position, [random.pick(HOSTILE_KEYS), value])
    default:
      return fields.with(position, [key, replacement])
  }
}

export function serializeFields(fields: JsonFields, random: Random): Buffer {
  const space = random.pick(['', '', ' ', '\r\n\t'])
  return Buffer.from(`{${fields.map(pair => pair.join(`${space}:`)).join(`,${space}`)}}`)
}

const BOM = Buffer.from('\ufeff')

/** Damages the bytes of a body, as in transit or by a faulty client. */
const BODY_MUTATIONS: readonly ((body: Buffer, random: Random) => Buffer)[] = [
  (body, random) => body.subarray(0, random.between(0, body.length)),
  (body, random) => body.subarray(0, random.between(0, body.length)),
  (body, random) => body.subarray(random.between(0, 2)),
  (body, random) => replaceAt(body, random, Buffer.of(random.between(0, 255))),
  (body, random) => replaceAt(body, random, Buffer.of(random.between(0, 255))),
  (body, random) => replaceAt(body, random, Buffer.of(0)),
  (body, random) =>
    replaceAt(body, random, Buffer.from(random.pick(['c080', 'c0af', 'e08080']), 'hex')),
  (body, random) =>
    replaceAt(body, random, Buffer.from(random.pick(['eda080', 'f4908080', 'ff']), 'hex')),
  body => Buffer.concat([BOM, body]),
  body => Buffer.concat([body, BOM]),
  body => Buffer.concat([body, body]),
  body => Buffer.concat([body, Buffer.from(',')]),
  body => Buffer.concat([body, Buffer.from('\0')]),
  body => Buffer.concat([Buffer.from('['), body, Buffer.from(']')]),
  body => Buffer.concat([Buffer.from(")]}',\n"), body]),
  body => gzipSync(body),
  body => Buffer.from(body.toString(), 'utf16le'),
  body => Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from(body.toString(), 'utf16le')]),
  body => Buffer.from(body.toString().replaceAll('"', "'")),
  body => Buffer.from(`amount=1500&json=${encodeURIComponent(body.toString())}`),
  body => Buffer.from(JSON.stringify(body.toString())),
  (_body, random) => Buffer.from(randomValue(random)),
  (_body, random) => Buffer.from(randomValue(random)),
  (_body, random) => Buffer.from(random.pick(['', ' ', '\n', '\t\r\n', '\0', '\u00a0', '\v'])),
  (_body, random) => Buffer.from(Uint8Array.from({ length: 200 }, () => random.between(0, 255))),
  (body, random) => pad(body, random.pick([65_535, 65_536, 65_537, 70_000])),
  (body, random) => pad(body, random.pick([65_536, 65_537, 200_000, TEN_MB])),
]

export function mutateBytes(body: Buffer, random: Random): Buffer {
  return random.pick(BODY_MUTATIONS)(body, random)
}

function replaceAt(body: Buffer, random: Random, bytes: Buffer): Buffer {
  const position = random.between(0, Math.max(0, body.length - 1))
  const after = position + (random.chance(0.5) ? 0 : bytes.length)
  return Buffer.concat([body.subarray(0, position), bytes, body.subarray(after)])
}

/** Inserts blanks into the body, so that a valid body of exactly the maximum size stays valid. */
function pad(body: Buffer, length: number): Buffer {
  const blanks = Buffer.alloc(Math.max(0, length - body.length), ' ')
  return Buffer.concat([body.subarray(0, 1), blanks, body.subarray(1)])
}
