import { createError } from '@svc/contract'

export { RUN_ERR_BLOCKED, RUN_ERR_GUARD_FAILED, RUN_ERR_REJECTED } from '@svc/contract/errors'

/** An agent has an unknown option, or an option with a bad value. */
export const RUN_ERR_BAD_AGENT = createError<[string]>('RUN_ERR_BAD_AGENT', 'Bad option of an agent: %s', 500)
/** A team has an unknown option, or an option with a bad value. */
export const RUN_ERR_BAD_TEAM = createError<[string]>('RUN_ERR_BAD_TEAM', 'Bad option of a team: %s', 500)
/** A workflow is invalid: a bad option, a duplicate name, an unknown step, or a cycle. */
export const RUN_ERR_BAD_WORKFLOW = createError<[string]>('RUN_ERR_BAD_WORKFLOW', 'Bad workflow: %s', 500)
/** A middleware is invalid: a name, an unknown hook, or a bad value; or a hook returned what it may not. */
export const RUN_ERR_BAD_MIDDLEWARE = createError<[string]>(
  'RUN_ERR_BAD_MIDDLEWARE',
  'Bad middleware: %s',
  500
)
/** The definition of a tool is invalid. */
export const RUN_ERR_BAD_TOOL = createError<[string]>('RUN_ERR_BAD_TOOL', 'Bad tool: %s', 500)
/** The value of `model`, or the value that a model function returned, is not a model. */
export const RUN_ERR_BAD_MODEL = createError<[string]>('RUN_ERR_BAD_MODEL', 'Not a model: %s', 500)
/** A run has an unknown option, or an option with a bad value. */
export const RUN_ERR_BAD_CONTEXT = createError<[string]>(
  'RUN_ERR_BAD_CONTEXT',
  'Bad option of a run: %s',
  500
)
/** A step of the run is repeated whose text was read from the stream's `text` already; `result` has the text that counts. */
export const RUN_ERR_TEXT_VOID = createError(
  'RUN_ERR_TEXT_VOID',
  'The text so far is void, since a step of the run is repeated: `result` has the text that counts',
  500
)

/** The plugin has options for the run engine but is registered after the engine. */
export const RUN_ERR_PLUGIN_ORDER = createError<[string]>(
  'RUN_ERR_PLUGIN_ORDER',
  'Too late: register @svc/runtime before %s, or pass the engine options to @svc/registry and register that first',
  500
)
/** The plugin is already registered in this app. */
export const RUN_ERR_REGISTERED_TWICE = createError(
  'RUN_ERR_REGISTERED_TWICE',
  '@svc/runtime is already registered in this app',
  500
)

/** The model provider answered 429; `retryAfter` (seconds) is set if the provider sent it. */
export const RUN_ERR_MODEL_RATE_LIMITED = createError(
  'RUN_ERR_MODEL_RATE_LIMITED',
  'The model provider limited the rate of calls',
  429
)
/** The model provider answered 5xx, sent an invalid response, or ended for an odd reason with nothing said. */
export const RUN_ERR_MODEL_FAILED = createError('RUN_ERR_MODEL_FAILED', 'The model provider failed', 502)
/** The connection to the model provider failed. */
export const RUN_ERR_MODEL_UNREACHABLE = createError(
  'RUN_ERR_MODEL_UNREACHABLE',
  'The model provider could not be reached',
  502
)
/** The model provider answered 4xx; a retry would fail too. */
export const RUN_ERR_MODEL_REFUSED = createError(
  'RUN_ERR_MODEL_REFUSED',
  'The model provider refused the call',
  502
)
/** The model provider refused the prompt as too long; a retry would fail too. */
export const RUN_ERR_CONTEXT_OVERFLOW = createError(
  'RUN_ERR_CONTEXT_OVERFLOW',
  'The conversation does not fit into the context window of the model; begin a new session, or shorten the input',
  413
)
/** The model provider answered 401 or 403, or its package found no API key; then the package's error is the `cause`. */
export const RUN_ERR_MODEL_AUTH = createError(
  'RUN_ERR_MODEL_AUTH',
  'The model provider received no credentials, or rejected them',
  502
)
/** The model's stream broke off after its first token, or ended without a finish reason. */
export const RUN_ERR_MODEL_STREAM_BROKEN = createError(
  'RUN_ERR_MODEL_STREAM_BROKEN',
  'The answer of the model broke off',
  502
)

/** A scripted model was called more often than its script has turns. */
export const RUN_ERR_SCRIPT_OVER = createError<[number]>(
  'RUN_ERR_SCRIPT_OVER',
  'The script of the model ends after %d calls',
  500
)

/** The model sent no token within `timeout.firstToken`. */
export const RUN_ERR_FIRST_TOKEN_TIMEOUT = createError<[number]>(
  'RUN_ERR_FIRST_TOKEN_TIMEOUT',
  'The model sent no token within %d ms',
  504
)
/** The model sent no further token within `timeout.betweenTokens`. */
export const RUN_ERR_TOKEN_TIMEOUT = createError<[number]>(
  'RUN_ERR_TOKEN_TIMEOUT',
  'The model sent no further token within %d ms',
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
/** The output of a workflow does not match its `output` schema. */
export const RUN_ERR_WORKFLOW_BAD_OUTPUT = createError<[string]>(
  'RUN_ERR_WORKFLOW_BAD_OUTPUT',
  'Bad output of the workflow: %s',
  500
)
/** The output of a step is not JSON-serializable, or does not match its `output` schema. */
export const RUN_ERR_STEP_BAD_OUTPUT = createError<[string, string, ErrorOptions?]>(
  'RUN_ERR_STEP_BAD_OUTPUT',
  'Bad output of the step "%s": %s',
  500
)
/** A branch chose an unknown case. */
export const RUN_ERR_STEP_NO_BRANCH = createError<[string, string]>(
  'RUN_ERR_STEP_NO_BRANCH',
  'The step "%s" has no branch "%s"',
  500
)
/** A loop did not end within its `maxRounds`. */
export const RUN_ERR_STEP_LOOP_LIMIT = createError<[string, number]>(
  'RUN_ERR_STEP_LOOP_LIMIT',
  'The loop "%s" did not end within %d rounds',
  500
)

/** The model called a tool unknown to the agent. */
export const RUN_ERR_TOOL_UNKNOWN = createError<[string]>('RUN_ERR_TOOL_UNKNOWN', 'There is no tool %s', 404)
/** The arguments of a tool call are not JSON, or do not match the tool's schema. */
export const RUN_ERR_TOOL_BAD_ARGS = createError<[string]>('RUN_ERR_TOOL_BAD_ARGS', 'Bad arguments: %s', 400)
/** The tool threw; the message is that of the thrown error. */
export const RUN_ERR_TOOL_FAILED = createError<[string]>('RUN_ERR_TOOL_FAILED', '%s', 500)
/** The caller of the run declined to serve a call of its tool. */
export const RUN_ERR_TOOL_DECLINED = createError('RUN_ERR_TOOL_DECLINED', 'The client declined the call', 403)
/** The caller of the run canceled a call of its tool. */
export const RUN_ERR_TOOL_CANCELED = createError('RUN_ERR_TOOL_CANCELED', 'The client canceled the call', 499)
/** The user interrupted the answer before the tool was called. */
export const RUN_ERR_TOOL_SKIPPED = createError('RUN_ERR_TOOL_SKIPPED', 'The user interrupted first', 499)
/** The tool took longer than its `timeout`. */
export const RUN_ERR_TOOL_TIMEOUT = createError<[number]>(
  'RUN_ERR_TOOL_TIMEOUT',
  'The tool took longer than %d ms',
  504
)
/** The service restarted while a tool that is not `idempotent` was in progress; only the model sees it. */
export const RUN_ERR_TOOL_INTERRUPTED = createError(
  'RUN_ERR_TOOL_INTERRUPTED',
  'The service restarted while the tool was in progress: what it does may have happened, or not',
  500
)
/** The result of the tool is not plain JSON data, or does not match its `output` schema. */
export const RUN_ERR_TOOL_BAD_OUTPUT = createError<[string]>(
  'RUN_ERR_TOOL_BAD_OUTPUT',
  'Bad result of the tool: %s',
  500
)
/** The result of the tool exceeds its `maxOutputBytes`. */
export const RUN_ERR_TOOL_OUTPUT_TOO_LARGE = createError<[number, number]>(
  'RUN_ERR_TOOL_OUTPUT_TOO_LARGE',
  'The result of the tool has %d bytes, more than the %d allowed; request less data',
  500
)

/** A value is not a sandbox, or not a valid option of one. */
export const RUN_ERR_BAD_SANDBOX = createError<[string]>('RUN_ERR_BAD_SANDBOX', 'Bad sandbox: %s', 500)
/** A sandbox confined by the operating system is required, but unavailable. */
export const RUN_ERR_SANDBOX_MISSING = createError<[string]>(
  'RUN_ERR_SANDBOX_MISSING',
  'No sandbox confined by the operating system: %s',
  500
)
/** The sandbox was closed. */
export const RUN_ERR_SANDBOX_CLOSED = createError('RUN_ERR_SANDBOX_CLOSED', 'The sandbox was closed', 503)
/** The queue of the sandbox is full. */
export const RUN_ERR_SANDBOX_BUSY = createError<[number]>(
  'RUN_ERR_SANDBOX_BUSY',
  'The sandbox is busy: %d programs are waiting',
  503
)
/** The sandbox failed, or its process died while it ran a program. */
export const RUN_ERR_SANDBOX_FAILED = createError<[string]>(
  'RUN_ERR_SANDBOX_FAILED',
  'The sandbox failed: %s',
  500
)
/** The program threw, or is not valid JavaScript; the message says what and where. */
export const RUN_ERR_PROGRAM_FAILED = createError<[string]>('RUN_ERR_PROGRAM_FAILED', '%s', 500)
/** The program itself, without its waits for tools, took longer than `limits.timeout`. */
export const RUN_ERR_PROGRAM_TIMEOUT = createError<[number]>(
  'RUN_ERR_PROGRAM_TIMEOUT',
  'The program took longer than %d ms',
  504
)
/** The program exceeded `limits.memory`. */
export const RUN_ERR_PROGRAM_MEMORY = createError<[number]>(
  'RUN_ERR_PROGRAM_MEMORY',
  'The program used more than %d bytes of memory',
  500
)

/** The answer does not match the agent's `output` schema, even after the model was asked to correct it. */
export const RUN_ERR_BAD_OUTPUT = createError<[string]>(
  'RUN_ERR_BAD_OUTPUT',
  'The answer of the model does not match the output schema: %s',
  502
)
/** A URL of the input may not be fetched: it has a private address, or credentials. */
export const RUN_ERR_URL_REFUSED = createError(
  'RUN_ERR_URL_REFUSED',
  'A URL of the input may not be fetched',
  400
)
/** A URL of the input could not be fetched: a time-out, an error status, or a file that is too large. */
export const RUN_ERR_URL_FAILED = createError<[string]>(
  'RUN_ERR_URL_FAILED',
  'A URL of the input could not be fetched: %s',
  400
)
/** The folder or the `SKILL.md` of a skill is invalid. */
export const RUN_ERR_BAD_SKILL = createError<[string]>('RUN_ERR_BAD_SKILL', 'Bad skill: %s', 500)
/** A memory threw, or timed out; occurs in `memory.error` events only. */
export const RUN_ERR_MEMORY_FAILED = createError<[string]>('RUN_ERR_MEMORY_FAILED', 'Memory: %s', 500)
/** An optional package is needed, but not installed. */
export const RUN_ERR_NOT_INSTALLED = createError<[string]>(
  'RUN_ERR_NOT_INSTALLED',
  '%s is not installed; install it to use this feature',
  500
)
/** An MCP server is unreachable, or gives no list of tools. */
export const RUN_ERR_MCP = createError<[string, ErrorOptions?]>('RUN_ERR_MCP', 'MCP server: %s', 502)
