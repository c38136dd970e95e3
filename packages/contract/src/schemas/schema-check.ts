import { formatFaults, MAX_FAULTS } from './format-faults.ts'

/** The budget of a check. A step takes a tenth of a microsecond at most, so any check ends within a fraction of a second. */
const STEPS = 2_000_000
const STEPS_PER_SCHEMA = 16
const MAX_DEPTH = 500

/** Thrown if a check exceeds its budget. */
export class TooCostly extends Error {}

/** Checks a value against one keyword of a schema; records the fault if it does not fit. */
export type Rule = (value: unknown, check: SchemaCheck, path: string) => boolean

/** A compiled schema; a value fits if all rules hold. */
export interface SchemaNode {
  readonly rules: readonly Rule[]
}

/** One check of one value: the remaining budget, and the faults found. */
export class SchemaCheck {
  readonly #subject: string
  #steps = STEPS
  #depth = 0
  #faults: string[] = []

  /** @param subject the name of the whole value in faults */
  constructor(subject: string) {
    this.#subject = subject
  }

  get faults(): readonly string[] {
    return this.#faults
  }

  /** Spends steps of the budget. @throws TooCostly */
  spend(steps: number): void {
    this.#steps -= steps
    if (this.#steps < 0) throw new TooCostly()
  }

  /** True if a value fits a schema. @throws TooCostly */
  fits({ rules }: SchemaNode, value: unknown, path: string): boolean {
    this.spend(STEPS_PER_SCHEMA)
    if (++this.#depth > MAX_DEPTH) throw new TooCostly()
    let fits = true
    for (const rule of rules) if (!rule(value, this, path)) fits = false
    this.#depth--
    return fits
  }

  /** Checks without recording: returns the faults instead. */
  attempt(node: SchemaNode, value: unknown, path: string): { fits: boolean; faults: readonly string[] } {
    const before = this.#faults
    this.#faults = []
    const fits = this.fits(node, value, path)
    const faults = this.#faults
    this.#faults = before
    return { fits, faults }
  }

  /** Records a fault and returns false, for the rule that found it. */
  fault(path: string, message: string): false {
    if (this.#faults.length < MAX_FAULTS) this.#faults.push(formatFaults([{ path, message }], this.#subject))
    return false
  }

  note(faults: readonly string[]): void {
    this.#faults.push(...faults.slice(0, MAX_FAULTS - this.#faults.length))
  }
}
