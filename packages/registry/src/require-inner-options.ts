import { Type, type TProperties } from '@sinclair/typebox'
import { requireOptions } from './options.ts'

/**
 * Makes sure of what is inside of options that may be an object or something else, as `true`: of a choice TypeBox does not
 * say what is wrong in it.
 * @throws the given error, whose message gets the path and the fault
 */
export function requireInnerOptions(
  schemas: TProperties,
  options: Readonly<Record<string, unknown>>,
  BadOption: new (fault: string) => Error
): void {
  const objects = Object.entries(options).filter(
    ([name, value]) => name in schemas && typeof value === 'object' && value !== null
  )
  requireOptions(Type.Partial(Type.Object(schemas)), Object.fromEntries(objects), BadOption)
}
