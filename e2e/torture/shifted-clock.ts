/** Preloaded with `--import`: shifts the clock of a process by CLOCK_SHIFT_MS. */
const { CLOCK_SHIFT_MS } = process.env
const Real = Date
const now = () => Real.now() + Number(CLOCK_SHIFT_MS)

globalThis.Date = new Proxy(Real, {
  apply: () => new Real(now()).toString(),
  construct: (target, args, by) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, by),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
})
