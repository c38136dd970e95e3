import { createError, isTellable, type ToolError } from '@svc/registry'

/** An option of an agent that is unknown or has a bad value. */
export const RUN_ERR_BAD_AGENT = createError<[string]>('RUN_ERR_BAD_AGENT', 'Bad option of an agent: %s', 500)
/** An option of a team that is unknown or has a bad value. */
export const RUN_ERR_BAD_TEAM = createError<[string]>('RUN_ERR_BAD_TEAM', 'Bad option of a team: %s', 500)
/** A workflow that cannot be one: a bad option, a name used twice, an unknown step, a cycle. */
export const RUN_ERR_BAD_WORKFLOW = createError<[string]>('RUN_ERR_BAD_WORKFLOW', 'Bad workflow: %s', 500)
/** A tool that cannot be one. */
export const RUN_ERR_BAD_TOOL = createError<[string]>('RUN_ERR_BAD_TOOL', 'Bad tool: %s', 500)
/** Something that is no model was given, or made by a model function. */
export const RUN_ERR_BAD_MODEL = createError<[string]>('RUN_ERR_BAD_MODEL', 'Not a model: %s', 500)
/** What a run was given as its context is none. */
export const RUN_ERR_BAD_CONTEXT = createError(
  'RUN_ERR_BAD_CONTEXT',
  'Not the context of a run: give none, or createContext({ sessionId, signal, … }) of @svc/registry',
  500
)

/** The plugin is given options of the run engine, and comes after it. */
export const RUN_ERR_PLUGIN_ORDER = createError<[string]>(
  'RUN_ERR_PLUGIN_ORDER',
  'Too late: register @svc/runtime before %s, or give the options of the engine to @svc/registry and register that first',
  500
)
/** The app has the plugin already. */
export const RUN_ERR_REGISTERED_TWICE = createError(
  'RUN_ERR_REGISTERED_TWICE',
  'The app has @svc/runtime already: register it once',
  500
)

/** The model provider answered 429; `retryAfter` (seconds) is there when the provider said so. */
export const RUN_ERR_MODEL_RATE_LIMITED = createError(
  'RUN_ERR_MODEL_RATE_LIMITED',
  'The model provider limits the rate of calls',
  429
)
/** The model provider answered 5xx, or with something that cannot be understood. */
export const RUN_ERR_MODEL_FAILED = createError('RUN_ERR_MODEL_FAILED', 'The model provider failed', 502)
/** The connection to the model provider failed. */
export const RUN_ERR_MODEL_UNREACHABLE = createError(
  'RUN_ERR_MODEL_UNREACHABLE',
  'The model provider could not be reached',
  502
)
/** The model provider answered 4xx: the same call will fail again. */
export const RUN_ERR_MODEL_REFUSED = createError(
  'RUN_ERR_MODEL_REFUSED',
  'The model provider refused the call',
  502
)
/** The model provider answered 401 or 403, or its package found no key to send: then its error is the `cause`. */
export const RUN_ERR_MODEL_AUTH = createError(
  'RUN_ERR_MODEL_AUTH',
  'The model provider got no credentials, or refused them',
  502
)
/** The stream of the model broke off after its first token, or ended without saying why. */
export const RUN_ERR_MODEL_STREAM_BROKEN = createError(
  'RUN_ERR_MODEL_STREAM_BROKEN',
  'The answer of the model broke off',
  502
)

/** A scripted model was called once more than its script has turns. */
export const RUN_ERR_SCRIPT_OVER = createError<[number]>(
  'RUN_ERR_SCRIPT_OVER',
  'The model was called once more: the script ends after %d calls',
  500
)

/** The model gave no token in `timeout.firstToken`. */
export const RUN_ERR_FIRST_TOKEN_TIMEOUT = createError<[number]>(
  'RUN_ERR_FIRST_TOKEN_TIMEOUT',
  'The model gave no token within %d ms',
  504
)
/** The model fell silent for `timeout.betweenTokens`. */
export const RUN_ERR_TOKEN_TIMEOUT = createError<[number]>(
  'RUN_ERR_TOKEN_TIMEOUT',
  'The model fell silent for %d ms',
  504
)
/** The run took longer than `timeout.run`. */
export const RUN_ERR_TIMEOUT = createError<[number]>('RUN_ERR_TIMEOUT', 'The run took longer than %d ms', 504)

/** The caller may not run a member of a team that does not delegate. */
export const RUN_ERR_MEMBER_FORBIDDEN = createError<[string, string]>(
  'RUN_ERR_MEMBER_FORBIDDEN',
  'You may not run the %s "%s"',
  403
)
/** The leader of a team picked none of its members. */
export const RUN_ERR_NO_ROUTE = createError(
  'RUN_ERR_NO_ROUTE',
  'The leader of the team picked no member',
  502
)

/** A step of a workflow took longer than its `timeout`. */
export const RUN_ERR_STEP_TIMEOUT = createError<[string, number]>(
  'RUN_ERR_STEP_TIMEOUT',
  'The step "%s" took longer than %d ms',
  504
)
/** What a step gave has no JSON, or does not fit its `output`. */
export const RUN_ERR_STEP_BAD_OUTPUT = createError<[string, string, ErrorOptions?]>(
  'RUN_ERR_STEP_BAD_OUTPUT',
  'The output of the step "%s" is bad: %s',
  500
)
/** A branch chose a way that there is not. */
export const RUN_ERR_STEP_NO_BRANCH = createError<[string, string]>(
  'RUN_ERR_STEP_NO_BRANCH',
  'The step "%s" has no branch "%s"',
  500
)
/** A loop did not come to its end. */
export const RUN_ERR_STEP_LOOP_LIMIT = createError<[string, number]>(
  'RUN_ERR_STEP_LOOP_LIMIT',
  'The loop "%s" did not end within %d rounds',
  500
)

/** The model called a tool that the agent does not have. */
export const RUN_ERR_TOOL_UNKNOWN = createError<[string]>('RUN_ERR_TOOL_UNKNOWN', 'There is no tool %s', 404)
/** The arguments of a tool call are no JSON, or do not fit the tool's schema. */
export const RUN_ERR_TOOL_BAD_ARGS = createError<[string]>('RUN_ERR_TOOL_BAD_ARGS', 'Bad arguments: %s', 400)
/** The tool threw; the message is the tool's own. */
export const RUN_ERR_TOOL_FAILED = createError<[string]>('RUN_ERR_TOOL_FAILED', '%s', 500)
/** The tool took longer than its `timeout`. */
export const RUN_ERR_TOOL_TIMEOUT = createError<[number]>(
  'RUN_ERR_TOOL_TIMEOUT',
  'The tool did not end within %d ms',
  504
)
/** What the tool returned has no JSON. */
export const RUN_ERR_TOOL_BAD_OUTPUT = createError<[string]>(
  'RUN_ERR_TOOL_BAD_OUTPUT',
  'The result of the tool has no JSON: %s',
  500
)
/** What the tool returned is larger than its `maxOutputBytes`. */
export const RUN_ERR_TOOL_OUTPUT_TOO_LARGE = createError<[number, number]>(
  'RUN_ERR_TOOL_OUTPUT_TOO_LARGE',
  'The result of the tool has %d bytes, more than the %d allowed; ask for less',
  500
)

/** What was given as a sandbox, or as an option of one, is none. */
export const RUN_ERR_BAD_SANDBOX = createError<[string]>('RUN_ERR_BAD_SANDBOX', 'Bad sandbox: %s', 500)
/** A sandbox that the system confines is required, and there is none. */
export const RUN_ERR_SANDBOX_MISSING = createError<[string]>(
  'RUN_ERR_SANDBOX_MISSING',
  'No sandbox that the system confines: %s',
  500
)
/** The sandbox was closed. */
export const RUN_ERR_SANDBOX_CLOSED = createError('RUN_ERR_SANDBOX_CLOSED', 'The sandbox was closed', 503)
/** As many programs as may wait for the sandbox do. */
export const RUN_ERR_SANDBOX_BUSY = createError<[number]>(
  'RUN_ERR_SANDBOX_BUSY',
  'The sandbox is busy: %d programs wait',
  503
)
/** The sandbox could not do its work, or its process died under a program. */
export const RUN_ERR_SANDBOX_FAILED = createError<[string]>(
  'RUN_ERR_SANDBOX_FAILED',
  'The sandbox failed: %s',
  500
)
/** The program threw, or is no JavaScript; the message says what and where. */
export const RUN_ERR_PROGRAM_FAILED = createError<[string]>('RUN_ERR_PROGRAM_FAILED', '%s', 500)
/** The program itself took longer than `limits.timeout`. */
export const RUN_ERR_PROGRAM_TIMEOUT = createError<[number]>(
  'RUN_ERR_PROGRAM_TIMEOUT',
  'The program took longer than %d ms',
  504
)
/** The program needs more than `limits.memory`. */
export const RUN_ERR_PROGRAM_MEMORY = createError<[number]>(
  'RUN_ERR_PROGRAM_MEMORY',
  'The program needs more memory than %d bytes',
  500
)

/** The answer of an agent with an `output` does not fit it, also after the model was asked to mend it. */
export const RUN_ERR_BAD_OUTPUT = createError<[string]>(
  'RUN_ERR_BAD_OUTPUT',
  'The answer of the model does not fit the output: %s',
  502
)
/** A URL of the input that may not be fetched: a private address, or no http or https. */
export const RUN_ERR_URL_REFUSED = createError(
  'RUN_ERR_URL_REFUSED',
  'A URL of the input may not be fetched',
  400
)
/** A URL of the input that could not be fetched: no answer in time, no success, or too large. */
export const RUN_ERR_URL_FAILED = createError<[string]>(
  'RUN_ERR_URL_FAILED',
  'A URL of the input could not be fetched: %s',
  400
)
/** A skill whose folder or `SKILL.md` is not as it should be. */
export const RUN_ERR_BAD_SKILL = createError<[string]>('RUN_ERR_BAD_SKILL', 'Bad skill: %s', 500)
/** A memory threw, or did not answer in time; only ever in a `memory.error` event. */
export const RUN_ERR_MEMORY_FAILED = createError<[string]>('RUN_ERR_MEMORY_FAILED', 'Memory: %s', 500)
/** A package that is optional, and needed now, is not installed. */
export const RUN_ERR_NOT_INSTALLED = createError<[string]>(
  'RUN_ERR_NOT_INSTALLED',
  '%s is not installed; add it to use this',
  500
)
/** An MCP server that cannot be used: it is not there, or gives tools that cannot be tools. */
export const RUN_ERR_MCP = createError<[string, ErrorOptions?]>('RUN_ERR_MCP', 'MCP server: %s', 502)

/** Whether a code says what became of a program, or of a tool that it called: the model may mend that. */
export function isProgramCode(code: string | undefined): boolean {
  return code !== undefined && /^RUN_ERR_(?:PROGRAM|SANDBOX|TOOL)_[A-Z_]+$/.test(code)
}

/** What models and clients see of why a call failed: of an error that is not tellable, only `otherwise`. */
export function toToolError(
  err: unknown,
  otherwise: ToolError = new RUN_ERR_TOOL_FAILED('The tool call failed')
): ToolError {
  const { code, message } = isTellable(err) ? err : otherwise
  return { code, message }
}
