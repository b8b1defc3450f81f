/**
 * Preloaded with `--import`: shifts the clock of a process by CLOCK_SHIFT_MS, from its start or, as a
 * process with a wrong clock does not start, from the signal that CLOCK_SHIFT_FROM names.
 */
const { CLOCK_SHIFT_MS, CLOCK_SHIFT_FROM } = process.env
let shiftMs = CLOCK_SHIFT_FROM ? 0 : Number(CLOCK_SHIFT_MS)
if (CLOCK_SHIFT_FROM) {
  process.once(CLOCK_SHIFT_FROM, () => {
    shiftMs = Number(CLOCK_SHIFT_MS)
  })
}
const RealDate = Date
const now = () => RealDate.now() + shiftMs

globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
})
