import { RUN_ERR_BAD_TOOL } from '../errors.ts'
import { compileSchema, type CheckValue } from './compile-schema.ts'

/** Compiles the schema of a tool's arguments. @throws RUN_ERR_BAD_TOOL when it is no JSON Schema of an object */
export function compileInput(name: string, schema: Record<string, unknown>): CheckValue {
  requireObjectSchema(name, schema)
  return compileSchema(
    schema,
    'the arguments',
    (fault) => new RUN_ERR_BAD_TOOL(`the input of "${name}": ${fault}`)
  )
}

/** @throws RUN_ERR_BAD_TOOL when a schema is none of an object */
export function requireObjectSchema(name: string, schema: Record<string, unknown>): void {
  if (schema['type'] !== 'object')
    throw new RUN_ERR_BAD_TOOL(`the input of "${name}" is no schema of an object`)
}
