import type { TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import { AcceptedMessageSchema, MessageInputSchema } from '../contract/content-part.ts'
import type { Runnable } from '../contract/runnable.ts'
import { RUN_ERR_BAD_INPUT } from '../errors.ts'

const checks = new WeakMap<TSchema, TypeCheck<TSchema>>()

/** Makes sure that an input is what the runnable takes: a message, or what its own schema says. @throws RUN_ERR_BAD_INPUT */
export function requireInput(runnable: Pick<Runnable, 'inputSchema'>, input: unknown): void {
  const { inputSchema: schema = MessageInputSchema } = runnable
  const takesMessage = schema === MessageInputSchema
  if (takesMessage && typeof input === 'string' && input !== '') return
  const check = checkFor(takesMessage ? AcceptedMessageSchema : schema)
  if (check.Check(input)) return
  throw badInput(takesMessage ? NO_MESSAGE : faultsOf(check, input))
}

type Fault = { path: string; message: string }

const NO_MESSAGE: Fault[] = [
  { path: 'input', message: 'must be a text that is not empty, or a list of content parts' }
]
const MAX_FAULTS = 10

function faultsOf(check: TypeCheck<TSchema>, input: unknown): Fault[] {
  const faults: Fault[] = []
  for (const { path, message } of check.Errors(input)) {
    if (faults.push({ path: `input${path}`, message }) === MAX_FAULTS) break
  }
  return faults
}

function badInput(errors: Fault[]): Error {
  const [first] = errors
  return Object.assign(new RUN_ERR_BAD_INPUT(`${first?.path} ${first?.message}`), { errors })
}

function checkFor(schema: TSchema): TypeCheck<TSchema> {
  let check = checks.get(schema)
  if (check === undefined) checks.set(schema, (check = TypeCompiler.Compile(schema)))
  return check
}
