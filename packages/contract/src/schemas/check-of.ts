import { fileURLToPath } from 'node:url'
import { FormatRegistry, TypeRegistry, type Static, type TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'

/**
 * The check of values by a schema, which is compiled when the first value is checked; with the formats and kinds that the app has
 * registered in TypeBox by then.
 */
export function checkOf<T extends TSchema>(schema: T): (value: unknown) => value is Static<T> {
  let check: TypeCheck<T> | undefined
  return (value): value is Static<T> => (check ??= compileCheck(schema)).Check(value)
}

/** As `checkOf`, compiled now. */
export function compileCheck<T extends TSchema>(schema: T): TypeCheck<T> {
  let check: TypeCheck<T> | undefined
  try {
    check = TypeCompiler.Compile(schema)
  } catch {
    // It has a kind that TypeBox does not have.
  }
  // A format is looked up for each value.
  if (check?.Code().includes('format(') === false) return check
  adoptRegistered()
  return check ?? TypeCompiler.Compile(schema)
}

/** Packages as published have a TypeBox of their own (`typebox.ts`), whose registries are not those of the app. */
function adoptRegistered(): void {
  const { FormatRegistry: formats, TypeRegistry: kinds } = loadRegistries('@sinclair/typebox')
  for (const [name, check] of formats.Entries()) FormatRegistry.Set(name, check)
  for (const [name, check] of kinds.Entries()) TypeRegistry.Set(name, check)
}

/** Those of one TypeBox. */
interface Registries {
  readonly FormatRegistry: typeof FormatRegistry
  readonly TypeRegistry: typeof TypeRegistry
}

function loadRegistries(specifier: string): Registries {
  try {
    // Bundlers replace an imported one.
    const { createRequire } = process.getBuiltinModule('node:module')
    return createRequire(import.meta.url)(fileURLToPath(import.meta.resolve(specifier))) as Registries
  } catch {
    // In a bundle all have one TypeBox.
    return { FormatRegistry, TypeRegistry }
  }
}
