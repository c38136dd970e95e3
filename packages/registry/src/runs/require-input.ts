import type { TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import { MessageInputSchema } from '../contract/content-part.ts'
import type { Runnable } from '../contract/runnable.ts'
import { RUN_ERR_BAD_INPUT } from '../errors.ts'

const checks = new WeakMap<TSchema, TypeCheck<TSchema>>()

/** Makes sure that an input is what the runnable takes: a message, or what its own schema says. @throws RUN_ERR_BAD_INPUT */
export function requireInput(runnable: Pick<Runnable, 'inputSchema'>, input: unknown): void {
  const schema = runnable.inputSchema ?? MessageInputSchema
  if (schema === MessageInputSchema && typeof input === 'string' && input !== '') return
  const check = checkFor(schema)
  if (check.Check(input)) return
  const fault = check.Errors(input).First()
  throw new RUN_ERR_BAD_INPUT(`input${fault?.path ?? ''}: ${fault?.message ?? 'does not fit'}`)
}

function checkFor(schema: TSchema): TypeCheck<TSchema> {
  let check = checks.get(schema)
  if (check === undefined) checks.set(schema, (check = TypeCompiler.Compile(schema)))
  return check
}
