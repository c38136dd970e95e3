/** A fault of a value, and where it is: a name of the value, then a JSON pointer: `body/input/0/data`. */
export interface Fault {
  readonly path: string
  readonly message: string
}

/** The most faults that a text lists. */
export const MAX_FAULTS = 5
/** The most characters of a path, and of a name in it, which may come from a client. */
const MAX_PATH_LENGTH = 256
const MAX_NAME_LENGTH = 100
/** The most characters of a message, which may quote a value. */
const MAX_MESSAGE_LENGTH = 1_000

/** Formats faults as one text, `limits/maxRuns: expected …; colour: …`; `subject` names the value as a whole. */
export function formatFaults(faults: readonly Fault[], subject = ''): string {
  const texts = faults.slice(0, MAX_FAULTS).map(({ path, message }) => {
    const place = path === '' ? subject : path
    return place === '' ? message : `${place}: ${message}`
  })
  return [...texts, ...(faults.length > MAX_FAULTS ? ['and more'] : [])].join('; ')
}

/** The path of a JSON pointer in a named value; `root` may be empty. */
export function toPath(root: string, pointer: string): string {
  const path = root === '' ? pointer.slice(1) : root + pointer
  return path.length > MAX_PATH_LENGTH ? `${path.slice(0, MAX_PATH_LENGTH)}…` : path
}

/** The path of a member of the value at a path; a long name is cut. */
export function memberPath(path: string, key: string | number): string {
  if (typeof key === 'number') return toPath(path, `/${key}`)
  const name = key.length > MAX_NAME_LENGTH ? `${key.slice(0, MAX_NAME_LENGTH)}…` : key
  return toPath(path, `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
}

/** The names in a path. */
export function keysOf(path: string): string[] {
  return path === '' ? [] : path.split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** An issue of a Standard Schema (standardschema.dev). */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The faults of a Standard Schema's issues, in its own words; a long message is cut. */
export function faultsOfIssues(issues: readonly StandardIssue[], root = '', limit = MAX_FAULTS + 1): Fault[] {
  return issues.slice(0, limit).map(({ message, path = [] }) => {
    const keys = path.map((each) => (typeof each === 'object' ? each.key : each))
    return {
      path: keys.reduce<string>((at, key) => memberPath(at, String(key)), root),
      message: cut(message)
    }
  })
}

function cut(message: string): string {
  return message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)}…` : message
}

/** An error of Ajv, as far as its faults need it. */
export interface AjvError {
  readonly keyword: string
  readonly instancePath: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string | undefined
}

/** The faults that Ajv found, the first at each path, in its own words but for names and literals. */
export function toFaults(errors: readonly AjvError[], root = '', limit = MAX_FAULTS + 1): Fault[] {
  // Ajv reports each literal of a choice, and then the choice itself: one fault.
  const choices = new Set(
    errors.filter(({ keyword }) => keyword === 'anyOf').map((each) => each.instancePath)
  )
  const faults = new Map<string, Fault>()
  for (const error of errors) {
    if (error.keyword !== 'anyOf' && choices.has(error.instancePath)) continue
    const fault = toFault(error, root, errors)
    if (!faults.has(fault.path)) faults.set(fault.path, fault)
    if (faults.size === limit) break
  }
  return [...faults.values()]
}

function toFault(
  { keyword, instancePath, params, message = 'does not fit' }: AjvError,
  root: string,
  all: readonly AjvError[]
): Fault {
  const path = toPath(root, instancePath)
  switch (keyword) {
    case 'required':
      return { path: memberPath(path, String(params['missingProperty'])), message: 'is required' }
    case 'additionalProperties':
      return { path: memberPath(path, String(params['additionalProperty'])), message: 'is not known' }
    case 'enum':
      return { path, message: mustBeOneOf(params['allowedValues'] as unknown[]) }
    case 'anyOf': {
      const options = all.filter((each) => each.keyword !== 'anyOf' && each.instancePath === instancePath)
      if (!options.every((each) => each.keyword === 'const')) return { path, message }
      return { path, message: mustBeOneOf(options.map((each) => each.params['allowedValue'])) }
    }
    default:
      return { path, message }
  }
}

/** The message for a value that is none of these. */
export function mustBeOneOf(values: readonly unknown[]): string {
  return `must be one of ${values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(', ')}`
}
