import type { TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import { AcceptedMessageSchema, MessageInputSchema } from '../contract/content-part.ts'
import type { Runnable } from '../contract/runnable.ts'
import { RUN_ERR_BAD_INPUT } from '../errors.ts'
import { faultsOfMessage, isBlank } from './faults-of-message.ts'
import { isPromise, type Awaitable } from '../contract/ports/awaitable.ts'
import type { InputFault } from './input-fault.ts'

interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}
type StandardResult = Awaitable<{ readonly issues?: readonly StandardIssue[] | undefined }>

const checks = new WeakMap<TSchema, TypeCheck<TSchema>>()
const MAX_FAULTS = 20
const MAX_PATH_LENGTH = 256

/** Makes sure that an input is what the runnable takes: a message, or what its own schema says. @throws RUN_ERR_BAD_INPUT */
export function requireInput(runnable: Pick<Runnable, 'inputSchema'>, input: unknown): void {
  const { inputSchema: schema = MessageInputSchema } = runnable
  const takesMessage = schema === MessageInputSchema
  if (takesMessage && typeof input === 'string' && !isBlank(input)) return
  const faults = takesMessage
    ? faultsOfMessage(input, checkFor(AcceptedMessageSchema).Check(input))
    : (faultsByStandard(schema, input) ?? faultsOf(checkFor(schema), input))
  if (faults.length > 0) throw badInput(faults)
}

// By a Standard Schema (standardschema.dev), where the schema is one. The runnable awaits an asynchronous one itself.
function faultsByStandard(schema: object, input: unknown): InputFault[] | undefined {
  const { '~standard': standard } = schema as { '~standard'?: { validate(value: unknown): StandardResult } }
  if (standard === undefined) return undefined
  const result = standard.validate(input)
  if (isPromise(result)) result.catch(() => {})
  const issues = isPromise(result) ? [] : (result.issues ?? [])
  return issues.slice(0, MAX_FAULTS).map(({ message, path = [] }) => {
    const keys = path.map((segment) => String(typeof segment === 'object' ? segment.key : segment))
    return { path: cut(['input', ...keys].join('/')), message }
  })
}

function faultsOf(check: TypeCheck<TSchema>, input: unknown): InputFault[] {
  const faults: InputFault[] = []
  if (check.Check(input)) return faults
  for (const { path, message } of check.Errors(input)) {
    if (faults.push({ path: cut(`input${path}`), message }) === MAX_FAULTS) break
  }
  return faults
}

function cut(path: string): string {
  return path.length > MAX_PATH_LENGTH ? `${path.slice(0, MAX_PATH_LENGTH)}…` : path
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
