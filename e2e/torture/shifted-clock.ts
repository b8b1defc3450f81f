/** Preloaded with `--import`: shifts the clock of a process by CLOCK_SHIFT_MS. */
const { CLOCK_SHIFT_MS } = process.env
const RealDate = Date
const now = () => RealDate.now() + Number(CLOCK_SHIFT_MS)

globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
})
