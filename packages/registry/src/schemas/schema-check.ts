import { formatFaults, MAX_FAULTS } from './format-faults.ts'

/** Steps of about a tenth of a microsecond at most: a check takes a fraction of a second, whatever schema and value are. */
const STEPS = 2_000_000
const STEPS_PER_SCHEMA = 16
const MAX_DEPTH = 500

/** Thrown when a check would cost too much. */
export class TooCostly extends Error {}

/** Whether a value fits one keyword of a schema; notes why it does not. */
export type Rule = (value: unknown, check: SchemaCheck, path: string) => boolean

/** A schema, ready to be checked against: all of its rules hold, or the value does not fit. */
export interface SchemaNode {
  readonly rules: readonly Rule[]
}

/** One check of one value: what it may still cost, and which faults were found. */
export class SchemaCheck {
  readonly #subject: string
  #steps = STEPS
  #depth = 0
  #faults: string[] = []

  /** @param subject what faults of the whole value are told of */
  constructor(subject: string) {
    this.#subject = subject
  }

  get faults(): readonly string[] {
    return this.#faults
  }

  /** Pays for steps. @throws TooCostly */
  spend(steps: number): void {
    this.#steps -= steps
    if (this.#steps < 0) throw new TooCostly()
  }

  /** Whether a value fits a schema. @throws TooCostly */
  fits({ rules }: SchemaNode, value: unknown, path: string): boolean {
    this.spend(STEPS_PER_SCHEMA)
    if (++this.#depth > MAX_DEPTH) throw new TooCostly()
    let fits = true
    for (const rule of rules) if (!rule(value, this, path)) fits = false
    this.#depth--
    return fits
  }

  /** The same; the faults are given, and noted only where the caller does so. */
  attempt(node: SchemaNode, value: unknown, path: string): { fits: boolean; faults: readonly string[] } {
    const before = this.#faults
    this.#faults = []
    const fits = this.fits(node, value, path)
    const faults = this.#faults
    this.#faults = before
    return { fits, faults }
  }

  /** Notes a fault; gives false, for the rule that found it. */
  fault(path: string, message: string): false {
    if (this.#faults.length < MAX_FAULTS) this.#faults.push(formatFaults([{ path, message }], this.#subject))
    return false
  }

  note(faults: readonly string[]): void {
    this.#faults.push(...faults.slice(0, MAX_FAULTS - this.#faults.length))
  }
}
