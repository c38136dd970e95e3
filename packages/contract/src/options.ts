import { Type, type TSchema, type TUnsafe } from '@sinclair/typebox'
import { REG_ERR_BAD_OPTION } from './errors.ts'
import { findFaults, formatFaults } from './schemas/faults.ts'

/** A schema for every field of an interface of options, by the same name and of the same type. */
export type OptionFields<Options> = {
  readonly [Name in keyof Options]-?: TSchema & { static: NonNullable<Options[Name]> }
}

/** The schema of an interface of options. */
export interface OptionsSchema<Options> extends TUnsafe<Options> {
  readonly properties: Readonly<Record<string, TSchema>>
}

/** Makes the schema of an interface whose fields are all optional; the interface has their documentation. */
export function optionsSchema<Options>(fields: OptionFields<Options>): OptionsSchema<Options> {
  const optional = Object.entries<TSchema>(fields).map(([name, schema]) => [name, Type.Optional(schema)])
  const properties = Object.fromEntries(optional) as Record<string, TSchema>
  return Type.Object(properties, { additionalProperties: false }) as unknown as OptionsSchema<Options>
}

/** The schema of an option that must be a function. */
export function functionSchema<Fn>() {
  return Type.Unsafe<Fn>(Type.Function([], Type.Unknown()))
}

/** The schema of an option that must be an object, such as a server; its members are not checked. */
export function objectSchema<T>() {
  return Type.Unsafe<T>(Type.Object({}))
}

/**
 * Checks options against their schema; an error names what is unknown or bad, what was expected, and the type of the value.
 * @throws the given error, whose message gets the faults, 5 at most; default REG_ERR_BAD_OPTION
 */
export function requireOptions(
  schema: TSchema,
  options: unknown,
  BadOption: new (faults: string) => Error = REG_ERR_BAD_OPTION
): void {
  const faults = findFaults(schema, options, { unknown: 'no such option' })
  if (faults.length > 0) throw new BadOption(formatFaults(faults))
}
