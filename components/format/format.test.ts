import { expect, test } from 'vitest'
import {
  callDurationText,
  clockText,
  delayText,
  durationText,
  durationWords,
  remainingText,
} from '#components/format/format.tsx'

test('a call is shown in milliseconds, from one second on in tenths of a second', () => {
  expect(callDurationText(212, 'pt-BR')).toBe('212 ms')
  expect([callDurationText(1_234, 'pt-BR'), callDurationText(1_234, 'en')]).toEqual([
    '1,2 s',
    '1.2 s',
  ])
})

test('a pause is rounded up to its largest unit', () => {
  expect([0, 5, 61, 1_800, 18_001].map(delayText)).toEqual(['0 s', '5 s', '2 min', '30 min', '6 h'])
})

test('remaining time is shown in two units, and zeros are omitted', () => {
  expect([-3, 0.2, 192, 180, 3_612].map(remainingText)).toEqual([
    '0 s',
    '1 s',
    '3 min 12 s',
    '3 min',
    '1 h 12 s',
  ])
})

test('a span is shown in its largest unit and the next smaller one', () => {
  expect([1, 59.4, 180, 3_720, 90_000].map(durationText)).toEqual([
    '1 s',
    '59 s',
    '3 min 0 s',
    '1 h 2 min',
    '1 d 1 h',
  ])
})

test('a duration in words uses the largest unit that it contains at least twice', () => {
  expect(durationWords(119, 'en')).toBe('119 seconds')
  expect(durationWords(7_199, 'pt-BR')).toBe('119 minutos')
  expect(durationWords(7_200, 'pt-BR')).toBe('2 horas')
  expect(durationWords(200_000, 'en')).toBe('2 days')
})

test('a countdown shows days once a day or more is left', () => {
  expect([0, 85_268, 30 * 86_400 - 1].map(clockText)).toEqual([
    '00:00:00',
    '23:41:08',
    '29 d 23:59:59',
  ])
})
