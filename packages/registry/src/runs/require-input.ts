import type { TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import { AcceptedMessageSchema, MessageInputSchema } from '../contract/content-part.ts'
import type { Runnable } from '../contract/runnable.ts'
import { RUN_ERR_BAD_INPUT } from '../errors.ts'
import { faultsOfMessage, isBlank } from './faults-of-message.ts'
import type { InputFault } from './input-fault.ts'

const checks = new WeakMap<TSchema, TypeCheck<TSchema>>()
const MAX_FAULTS = 20
const MAX_PATH_LENGTH = 256

/** Makes sure that an input is what the runnable takes: a message, or what its own schema says. @throws RUN_ERR_BAD_INPUT */
export function requireInput(runnable: Pick<Runnable, 'inputSchema'>, input: unknown): void {
  const { inputSchema: schema = MessageInputSchema } = runnable
  const takesMessage = schema === MessageInputSchema
  if (takesMessage && typeof input === 'string' && !isBlank(input)) return
  const check = checkFor(takesMessage ? AcceptedMessageSchema : schema)
  const faults = takesMessage ? faultsOfMessage(input, check.Check(input)) : faultsOf(check, input)
  if (faults.length > 0) throw badInput(faults)
}

function faultsOf(check: TypeCheck<TSchema>, input: unknown): InputFault[] {
  const faults: InputFault[] = []
  if (check.Check(input)) return faults
  for (const { path, message } of check.Errors(input)) {
    const cut = path.length > MAX_PATH_LENGTH ? `${path.slice(0, MAX_PATH_LENGTH)}…` : path
    if (faults.push({ path: `input${cut}`, message }) === MAX_FAULTS) break
  }
  return faults
}

function badInput(errors: InputFault[]): Error {
  const [first] = errors
  return Object.assign(new RUN_ERR_BAD_INPUT(`${first?.path} ${first?.message}`), { errors })
}

function checkFor(schema: TSchema): TypeCheck<TSchema> {
  let check = checks.get(schema)
  if (check === undefined) checks.set(schema, (check = TypeCompiler.Compile(schema)))
  return check
}
