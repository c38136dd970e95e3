// Import it before anything else. The clock of this process differs from that of the machine by so many milliseconds.
const SHIFT = Number(process.env['CLOCK_SHIFT'] ?? 0)
const MachineDate = Date

/** The time of the machine, which is also that of its database. */
export function machineTime(): number {
  return MachineDate.now()
}

globalThis.Date = new Proxy(MachineDate, {
  construct: (target, args, constructor) =>
    Reflect.construct(target, args.length === 0 ? [target.now() + SHIFT] : args, constructor) as object,
  apply: (target) => new target(target.now() + SHIFT).toString(),
  get: (target, key) => (key === 'now' ? () => target.now() + SHIFT : Reflect.get(target, key))
})
