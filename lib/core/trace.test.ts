import { expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { withLogContext } from '#lib/core/log.ts'
import {
  childSpan,
  continueTrace,
  currentCause,
  parseCause,
  REQUEST_ID_PLACE,
  traceHeaders,
  traceOfEvent,
} from '#lib/core/trace.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT_ID = '00f067aa0ba902b7'
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])$/

test('a valid traceparent is continued with a span of its own', () => {
  for (const [text, isSampled] of [
    [`00-${TRACE_ID}-${PARENT_ID}-01`, true],
    [`00-${TRACE_ID}-${PARENT_ID}-00`, false],
    [`00-${TRACE_ID}-${PARENT_ID}-03`, true],
    [`00-${TRACE_ID}-${PARENT_ID}-fe`, false],
    [`cc-${TRACE_ID}-${PARENT_ID}-01`, true],
    [`cc-${TRACE_ID}-${PARENT_ID}-01-what-a-later-version-adds`, true],
  ] as const) {
    const trace = continueTrace(text, newId())
    expect(trace, text).toMatchObject({ traceId: TRACE_ID, parentId: PARENT_ID, isSampled })
    expect(trace.spanId).toMatch(/^[0-9a-f]{16}$/)
    expect(trace.spanId).not.toBe(PARENT_ID)
  }
})

test('a malformed traceparent is ignored: the trace has the id of the request', () => {
  const requestId = newId()
  for (const text of [
    '',
    ' ',
    '00',
    'null',
    TRACE_ID,
    `${TRACE_ID}-${PARENT_ID}`,
    `00-${TRACE_ID}-${PARENT_ID}`,
    `00-${TRACE_ID}-${PARENT_ID}-1`,
    `00-${TRACE_ID}-${PARENT_ID}-01-more`,
    `00-${TRACE_ID}-${PARENT_ID}-01 `,
    `00-${TRACE_ID}-${PARENT_ID}-01, 00-${TRACE_ID}-${PARENT_ID}-01`,
    `00-${TRACE_ID.toUpperCase()}-${PARENT_ID}-01`,
    `00-${TRACE_ID}-${PARENT_ID.toUpperCase()}-01`,
    `00-${TRACE_ID}0-${PARENT_ID}-01`,
    `00-${TRACE_ID.slice(1)}-${PARENT_ID}-01`,
    `00-${TRACE_ID}-${PARENT_ID.slice(1)}-01`,
    `00-${'0'.repeat(32)}-${PARENT_ID}-01`,
    `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
    `ff-${TRACE_ID}-${PARENT_ID}-01`,
    `0-${TRACE_ID}-${PARENT_ID}-01`,
    `00-${TRACE_ID.replace('4', 'g')}-${PARENT_ID}-01`,
    `00_${TRACE_ID}_${PARENT_ID}_01`,
    `cc-${TRACE_ID}-${PARENT_ID}-01x`,
  ]) {
    const trace = continueTrace(text, requestId)
    expect(trace, text).toMatchObject({ traceId: requestId.replaceAll('-', ''), isSampled: true })
    expect(trace, text).not.toHaveProperty('parentId')
  }
})

test('a request whose caller chose an id that is no UUID starts a trace with a random id', () => {
  const [one, other] = [continueTrace(null, 'order-17'), continueTrace(null, 'order-17')]
  expect(one.traceId).toMatch(/^[0-9a-f]{32}$/)
  expect(one.traceId).not.toBe(other.traceId)
})

test('the cause of a row is the request, also with a dash in its id; a job has none', () => {
  expect(currentCause()).toBeNull()
  expect(parseCause(null)).toBeNull()
  for (const requestId of [newId(), 'order-17.2:a_b', 'x']) {
    const trace = continueTrace(`00-${TRACE_ID}-${PARENT_ID}-00`, requestId)
    const stored = withLogContext({ requestId, trace }, currentCause) ?? ''
    expect(stored.slice(REQUEST_ID_PLACE - 1)).toBe(requestId)
    const { traceId, spanId, isSampled } = trace
    expect(parseCause(stored)).toEqual({ traceId, spanId, isSampled, requestId })
  }
})

test('calls about an event have spans below its own, in the trace of its request or of its event', () => {
  const eventId = newId()
  const caused = traceOfEvent(`${TRACE_ID}-${PARENT_ID}-00-order-17`, eventId)
  expect(caused).toMatchObject({ traceId: TRACE_ID, parentId: PARENT_ID, isSampled: false })
  const calls = [childSpan(caused), childSpan(caused)]
  for (const call of calls) {
    expect(call).toMatchObject({ traceId: TRACE_ID, parentId: caused.spanId, isSampled: false })
    const { traceparent = '', ...others } = traceHeaders(call, 'order-17')
    expect(others).toEqual({ 'troco-request-id': 'order-17' })
    expect(TRACEPARENT.exec(traceparent)?.slice(1)).toEqual([TRACE_ID, call.spanId, '00'])
  }
  expect(new Set([...calls, caused].map(({ spanId }) => spanId)).size).toBe(3)
  const uncaused = traceOfEvent(null, eventId)
  expect(uncaused).toEqual({
    traceId: eventId.replaceAll('-', ''),
    spanId: caused.spanId,
    isSampled: true,
  })
  expect(traceHeaders(uncaused, undefined)).not.toHaveProperty('troco-request-id')
})
