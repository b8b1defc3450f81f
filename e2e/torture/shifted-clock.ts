/** Loaded before a process's own code (--import): its clock is CLOCK_SHIFT_MS off from then on. */
const { CLOCK_SHIFT_MS } = process.env
const Real = Date
const now = () => Real.now() + Number(CLOCK_SHIFT_MS)

globalThis.Date = new Proxy(Real, {
  apply: () => new Real(now()).toString(),
  construct: (target, given, by) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, by),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
})
