/** Loaded before a process's code (--import): shifts its clock by CLOCK_SHIFT_MS. */
const { CLOCK_SHIFT_MS } = process.env
const Real = Date
const now = () => Real.now() + Number(CLOCK_SHIFT_MS)

globalThis.Date = new Proxy(Real, {
  apply: () => new Real(now()).toString(),
  construct: (target, given, by) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, by),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
})
