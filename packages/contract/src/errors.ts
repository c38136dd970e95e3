import { createError } from './create-error.ts'

/** An invalid name of a runnable. */
export const REG_ERR_BAD_NAME = createError<[string]>('REG_ERR_BAD_NAME', 'Bad name: %s', 400)
/** A kind other than agent, team or workflow. */
export const REG_ERR_BAD_KIND = createError<[string]>('REG_ERR_BAD_KIND', 'Bad kind: %s', 400)
/** The added value is not a runnable. */
export const REG_ERR_BAD_RUNNABLE = createError<[string]>('REG_ERR_BAD_RUNNABLE', 'Not a runnable: %s', 400)
/** The name is already taken for this kind. */
export const REG_ERR_NAME_TAKEN = createError<[string, string]>(
  'REG_ERR_NAME_TAKEN',
  'The %s "%s" is already registered; pass `replace: true` to replace it on purpose',
  409
)
/** Two runnables of one engine have the same kind, name and registry id. */
export const REG_ERR_ID_SHARED = createError<
  [kind: string, name: string, id: string, first: string, second: string]
>(
  'REG_ERR_ID_SHARED',
  'Two %ss named "%s" have the registry id "%s": one of %s, one of %s. Give one registry an id of its own: createRegistry({ id })',
  409
)
/** An unknown option, or one with an invalid value. */
export const REG_ERR_BAD_OPTION = createError<[string]>('REG_ERR_BAD_OPTION', 'Bad option: %s', 500)
/** The argument of `expose` has no code or message, or an invalid status. */
export const REG_ERR_BAD_ERROR = createError<[string, ErrorOptions?]>(
  'REG_ERR_BAD_ERROR',
  'Not an error that clients can see: %s',
  500
)
/** This version of Node is too old. */
export const REG_ERR_OLD_NODE = createError<[string, string]>(
  'REG_ERR_OLD_NODE',
  'Node %s or newer is needed, this is %s',
  500
)
/** The registry's plugin was registered after a plugin that created a registry. */
export const REG_ERR_PLUGIN_ORDER = createError<[string]>(
  'REG_ERR_PLUGIN_ORDER',
  'Too late: register @svc/registry before %s, which brings one along where there is none',
  500
)
/** The app has a registry already. */
export const REG_ERR_REGISTERED_TWICE = createError(
  'REG_ERR_REGISTERED_TWICE',
  'The app has @svc/registry already: register it once',
  500
)
/** Two run engines of an app would share one store. */
export const REG_ERR_STORE_IN_USE = createError(
  'REG_ERR_STORE_IN_USE',
  'Another run engine of the app has the store: register @svc/registry where both see it, or give it stores of its own',
  500
)
/** An invalid cursor. */
export const REG_ERR_BAD_CURSOR = createError(
  'REG_ERR_BAD_CURSOR',
  'The cursor is not one that a page gave',
  400
)

/** There is no such run, or it has another owner. */
export const RUN_ERR_NOT_FOUND = createError<[string]>('RUN_ERR_NOT_FOUND', 'No run "%s"', 404)
/** The run has already ended and cannot be canceled. */
export const RUN_ERR_TERMINAL = createError<[string]>('RUN_ERR_TERMINAL', 'The run is already %s', 409)
/** The idempotency key belongs to another request. */
export const RUN_ERR_KEY_REUSED = createError(
  'RUN_ERR_KEY_REUSED',
  'The idempotency key was used for another request',
  422
)
/** Another run has the turn of the session, and the message was not to wait. `runId` is that run, if an engine executes it. */
export const RUN_ERR_SESSION_BUSY = createError<[string]>(
  'RUN_ERR_SESSION_BUSY',
  'The session is busy: %s has its turn. Send the message again later, or with another `whenBusy`',
  409
)
/** A deletion waits for work that has not ended. */
export const RUN_ERR_NOT_ENDED = createError(
  'RUN_ERR_NOT_ENDED',
  'Work that is to be removed has not ended yet: repeat the request',
  409
)
/** `whenBusy` has a value that this runnable, or this way to start it, does not know. */
export const RUN_ERR_WHEN_BUSY = createError<[string]>('RUN_ERR_WHEN_BUSY', 'Bad whenBusy: %s', 400)
/** The session has no turn of this run, or forgot it. */
export const RUN_ERR_NO_TURN = createError<[string]>(
  'RUN_ERR_NO_TURN',
  'The session has no turn of a run "%s"',
  404
)
/** The new session was to have the id of another one. */
export const RUN_ERR_SESSION_EXISTS = createError<[string]>(
  'RUN_ERR_SESSION_EXISTS',
  'There is a session "%s" already',
  409
)
/** The input does not fit the runnable's schema, or an answer to an approval or another input is invalid. */
export const RUN_ERR_BAD_INPUT = createError<[string]>('RUN_ERR_BAD_INPUT', '%s', 400)
/** A workflow was started with messages, instructions, tools, a tool choice or stop texts. */
export const RUN_ERR_NO_CONVERSATION = createError<[string]>(
  'RUN_ERR_NO_CONVERSATION',
  'A workflow takes an input only: leave out %s',
  400
)
/** The runnable does not compact the history of its sessions. */
export const RUN_ERR_NO_COMPACTION = createError<[kind: string, name: string]>(
  'RUN_ERR_NO_COMPACTION',
  'The %s "%s" does not compact its sessions',
  400
)
/** A tool of the caller has the name of one of the agent's own tools. */
export const RUN_ERR_TOOL_NAME_TAKEN = createError<[string]>(
  'RUN_ERR_TOOL_NAME_TAKEN',
  'The agent has a tool "%s": give yours another name',
  400
)
/** The surface accepts no instructions of callers. */
export const RUN_ERR_CLIENT_INSTRUCTIONS = createError(
  'RUN_ERR_CLIENT_INSTRUCTIONS',
  'Instructions of callers are not accepted here',
  403
)
/** The surface accepts no tools of callers. */
export const RUN_ERR_CLIENT_TOOLS = createError(
  'RUN_ERR_CLIENT_TOOLS',
  'Tools of callers are not accepted here',
  403
)
/** A Standard Schema returned neither a value nor a list of issues, or threw while it validated an input. */
export const RUN_ERR_BAD_SCHEMA = createError<[string]>(
  'RUN_ERR_BAD_SCHEMA',
  'The Standard Schema is faulty: %s',
  500
)
/** There is no such approval, question, client tool or request for credentials, or the caller may not answer it. */
export const RUN_ERR_INPUT_NOT_FOUND = createError<[string]>('RUN_ERR_INPUT_NOT_FOUND', 'No input "%s"', 404)
/** The input is already answered, or its run has ended. */
export const RUN_ERR_INPUT_ANSWERED = createError(
  'RUN_ERR_INPUT_ANSWERED',
  'The input is already answered, or its run has ended',
  409
)
/** The input was not answered in time; also the tool error that a model sees of a client's tool. */
export const RUN_ERR_INPUT_EXPIRED = createError(
  'RUN_ERR_INPUT_EXPIRED',
  'The input was not answered in time',
  409
)
/** A runnable asked a question, or for credentials, without a message, or with an unusable schema or time-out. */
export const RUN_ERR_BAD_QUESTION = createError<[string]>(
  'RUN_ERR_BAD_QUESTION',
  'The run cannot ask this: %s',
  500
)
/** The tool error that a model sees if a call was denied or not answered in time. */
export const RUN_ERR_APPROVAL_DENIED = createError<[string]>('RUN_ERR_APPROVAL_DENIED', '%s', 403)
/** The process that executed the run died. */
export const RUN_ERR_INTERRUPTED = createError(
  'RUN_ERR_INTERRUPTED',
  'The run was interrupted by a restart of the service',
  500
)
/** The process that executed the run has died 5 times without progress of the run, which may be the cause. */
export const RUN_ERR_POISONED = createError(
  'RUN_ERR_POISONED',
  'The service died 5 times while it executed the run',
  500
)
/** The run began with its caller's key for a model provider, which a restart of the service has lost; start it again. */
export const RUN_ERR_KEY_GONE = createError(
  'RUN_ERR_KEY_GONE',
  'A restart of the service has lost the key that the run began with',
  503
)
/** The log of the run is larger than `maxLogBytes`. */
export const RUN_ERR_LOG_LIMIT = createError<[number]>(
  'RUN_ERR_LOG_LIMIT',
  'The log of the run exceeds %d bytes',
  500
)
/** A file exceeds what the file store takes. */
export const RUN_ERR_FILE_LIMIT = createError<[number]>(
  'RUN_ERR_FILE_LIMIT',
  'The file does not fit into the %d bytes of the file store',
  413
)
/** The run has no such file, or no longer. */
export const RUN_ERR_FILE_NOT_FOUND = createError<[string]>(
  'RUN_ERR_FILE_NOT_FOUND',
  'The run has no file "%s"',
  404
)
/** The stores of the engine have no file store. */
export const RUN_ERR_FILES_NOT_KEPT = createError(
  'RUN_ERR_FILES_NOT_KEPT',
  'No files of runs are kept here',
  404
)
/** The range has no bytes of the file. */
export const RUN_ERR_BAD_RANGE = createError<[number]>(
  'RUN_ERR_BAD_RANGE',
  'The range is outside of the %d bytes of the file',
  416
)
/** A runnable yielded an invalid part, or one without JSON. */
export const RUN_ERR_BAD_PART = createError<[string, ErrorOptions?]>(
  'RUN_ERR_BAD_PART',
  'The runnable yielded a bad part: %s',
  500
)
/** The `run` of a runnable returned neither a string nor an object with a `text`. */
export const RUN_ERR_BAD_RESULT = createError<[string]>(
  'RUN_ERR_BAD_RESULT',
  'The run of "%s" gave neither a string nor { text }',
  500
)
/** A middleware of the service has blocked the input or the answer of the run; the message is its public reason. */
export const RUN_ERR_BLOCKED = createError<[reason: string]>('RUN_ERR_BLOCKED', '%s', 422)
/** A middleware threw, took too long, or returned what it may not: nothing that it was to check has passed. */
export const RUN_ERR_GUARD_FAILED = createError('RUN_ERR_GUARD_FAILED', 'A check of the service failed', 500)
/** The run does not do what it was asked to: throw it with the reason, which the caller sees, in a runnable, a tool or a step. */
export const RUN_ERR_REJECTED = createError<[reason: string]>('RUN_ERR_REJECTED', '%s', 422)
/** The runnable threw. */
export const RUN_ERR_FAILED = createError('RUN_ERR_FAILED', 'The run failed', 500)
/** Another process has leased the run; this one may no longer write. */
export const RUN_ERR_FENCED = createError<[string]>(
  'RUN_ERR_FENCED',
  'The run "%s" is no longer leased here',
  409
)
/** The service is at its limit of concurrent runs. */
export const RUN_ERR_OVERLOADED = createError('RUN_ERR_OVERLOADED', 'Too many runs are in progress', 503)
/** The owner is at the limit of concurrent runs. */
export const RUN_ERR_TOO_MANY_RUNS = createError(
  'RUN_ERR_TOO_MANY_RUNS',
  'Too many of your runs are in progress',
  429
)
/** The runs of the owner that only wait take as much memory as they may. */
export const RUN_ERR_WAITING_LIMIT = createError(
  'RUN_ERR_WAITING_LIMIT',
  'Too many of your runs wait for answers or for their turn',
  429
)
/** The run cannot wait in the queue: no other process could begin it from what is stored. */
export const RUN_ERR_NOT_QUEUEABLE = createError<[string]>(
  'RUN_ERR_NOT_QUEUEABLE',
  'The run cannot be queued: %s',
  400
)
/** The service is shutting down and refuses new runs. */
export const RUN_ERR_DRAINING = createError('RUN_ERR_DRAINING', 'The service is shutting down', 503)
/** The process has lost contact with the store, so another one may take its runs: it starts none until contact is back. */
export const RUN_ERR_NO_LEASE = createError(
  'RUN_ERR_NO_LEASE',
  'The service has lost contact with its store',
  503
)
/** The service is recovering the runs of an earlier process; it answers, but a load balancer should wait. */
export const RUN_ERR_RECOVERING = createError(
  'RUN_ERR_RECOVERING',
  'The service is recovering the runs of an earlier process',
  503
)
/** The service is shutting down or its store fails; the run is resumed later, so do not start it again. */
export const RUN_ERR_SUSPENDED = createError(
  'RUN_ERR_SUSPENDED',
  'The service cannot continue the run now and will resume it later',
  503
)
/** The client has left before its answer was made. */
export const RUN_ERR_READER_LEFT = createError(
  'RUN_ERR_READER_LEFT',
  'The client has left before it was answered',
  499
)
/** The run was canceled; also the reason of its signal. */
export const RUN_ERR_CANCELED = createError('RUN_ERR_CANCELED', 'The run was canceled', 499)
/** The stored data of the run is unreadable: the disk failed, or the data was modified. */
export const RUN_ERR_DAMAGED = createError<[string]>(
  'RUN_ERR_DAMAGED',
  'What is stored of the run is damaged: %s',
  500
)
/** A store could not be reached or refused to write. */
export const RUN_ERR_STORE = createError('RUN_ERR_STORE', 'A store is not available', 503)

/** There is no such schedule, or it has another owner. */
export const RUN_ERR_SCHEDULE_NOT_FOUND = createError<[string]>(
  'RUN_ERR_SCHEDULE_NOT_FOUND',
  'No schedule "%s"',
  404
)
/** A field of a schedule is missing or invalid; `errors` lists the faults. */
export const RUN_ERR_BAD_SCHEDULE = createError<[string]>('RUN_ERR_BAD_SCHEDULE', '%s', 400)
/** The cron expression cannot be read. */
export const RUN_ERR_SCHEDULE_CRON = createError<[string]>(
  'RUN_ERR_SCHEDULE_CRON',
  'Not a cron expression: %s',
  400
)
/** The cron expression names no instant at all, such as February 30. */
export const RUN_ERR_SCHEDULE_NEVER = createError<[string]>(
  'RUN_ERR_SCHEDULE_NEVER',
  'The cron expression "%s" never fires',
  400
)
/** The cron expression fires more than once a minute. */
export const RUN_ERR_SCHEDULE_TOO_OFTEN = createError<[string]>(
  'RUN_ERR_SCHEDULE_TOO_OFTEN',
  'The cron expression "%s" fires more than once a minute: name one second, or leave the seconds out',
  400
)
/** No such time zone. */
export const RUN_ERR_SCHEDULE_TIME_ZONE = createError<[string]>(
  'RUN_ERR_SCHEDULE_TIME_ZONE',
  'Unknown time zone: "%s"; name one of the IANA database, such as Europe/Berlin',
  400
)
/** The instant is over. */
export const RUN_ERR_SCHEDULE_PAST = createError<[string]>(
  'RUN_ERR_SCHEDULE_PAST',
  'The instant %s is in the past',
  400
)
/** The input of a schedule has binary content, which is not kept. */
export const RUN_ERR_SCHEDULE_BINARY = createError(
  'RUN_ERR_SCHEDULE_BINARY',
  'The bytes of files are not kept with a schedule: give their URLs',
  400
)
/** The owner has reached the limit of schedules, or the store in memory is full. */
export const RUN_ERR_TOO_MANY_SCHEDULES = createError(
  'RUN_ERR_TOO_MANY_SCHEDULES',
  'There are too many schedules: remove some',
  429
)
/** The schedule was changed or fired again and again while it was to be changed. */
export const RUN_ERR_SCHEDULE_CHANGED = createError(
  'RUN_ERR_SCHEDULE_CHANGED',
  'The schedule is being changed by another request: repeat yours',
  409
)
/** The stores of the engine keep no schedules. */
export const RUN_ERR_SCHEDULES_NOT_KEPT = createError(
  'RUN_ERR_SCHEDULES_NOT_KEPT',
  'No schedules are kept here',
  404
)
/** The policy of the app no longer allows the owner of the schedule to run it. */
export const RUN_ERR_SCHEDULE_REFUSED = createError(
  'RUN_ERR_SCHEDULE_REFUSED',
  'The owner of the schedule may not run it',
  403
)
/** No process has the runnable of the schedule, or cannot resume it. */
export const RUN_ERR_SCHEDULE_NO_RUNNABLE = createError<[kind: string, name: string]>(
  'RUN_ERR_SCHEDULE_NO_RUNNABLE',
  'The %s "%s" of the schedule is not registered here',
  409
)

/** There is no such session, or it has another owner. */
export const RUN_ERR_SESSION_NOT_FOUND = createError<[sessionId: string]>(
  'RUN_ERR_SESSION_NOT_FOUND',
  'No session "%s"',
  404
)
/** The caller has sessions of several runnables with this id, and the wire names no runnable. */
export const RUN_ERR_SESSION_AMBIGUOUS = createError<[sessionId: string]>(
  'RUN_ERR_SESSION_AMBIGUOUS',
  'There are sessions "%s" of several runnables: use another id, or a wire that names the runnable',
  409
)
/** A field of a session is invalid; `errors` lists the faults. */
export const RUN_ERR_BAD_SESSION = createError<[string]>('RUN_ERR_BAD_SESSION', '%s', 400)
/** The stores of the engine keep no list of sessions. */
export const RUN_ERR_SESSIONS_NOT_KEPT = createError(
  'RUN_ERR_SESSIONS_NOT_KEPT',
  'No list of sessions is kept here',
  404
)
/** Not a place in the channel of a session. */
export const RUN_ERR_BAD_POSITION = createError(
  'RUN_ERR_BAD_POSITION',
  'Not a place in a session: send the id of a message of its stream',
  400
)
/** The log of a run, or of a run in the channel of a session, has no such place: it is no longer kept, or the store was restored. */
export const RUN_ERR_LOG_GONE = createError(
  'RUN_ERR_LOG_GONE',
  'The log has no such place, or no longer: read the record of the run, or the messages of the session, and follow it from there',
  410
)

/** There is no such webhook, or it has another owner. */
export const RUN_ERR_WEBHOOK_NOT_FOUND = createError<[string]>(
  'RUN_ERR_WEBHOOK_NOT_FOUND',
  'No webhook "%s"',
  404
)
/** A field of a webhook is missing or invalid; `errors` lists the faults. */
export const RUN_ERR_BAD_WEBHOOK = createError<[string]>('RUN_ERR_BAD_WEBHOOK', '%s', 400)
/** The URL is none, or not one on the public internet. */
export const RUN_ERR_WEBHOOK_URL = createError<[string]>(
  'RUN_ERR_WEBHOOK_URL',
  'The URL of the webhook cannot be used: %s',
  400
)
/** Neither the webhook of a run nor the service has a secret to sign messages with. */
export const RUN_ERR_WEBHOOK_NO_SECRET = createError(
  'RUN_ERR_WEBHOOK_NO_SECRET',
  'The service has no secret of its own: give `secrets`',
  400
)
/** An owner has as many webhooks as it may have, or the store is full. */
export const RUN_ERR_TOO_MANY_WEBHOOKS = createError(
  'RUN_ERR_TOO_MANY_WEBHOOKS',
  'Too many webhooks: remove one, or wait until runs with one have ended',
  429
)
/** The stores of the engine have no webhooks. */
export const RUN_ERR_WEBHOOKS_NOT_KEPT = createError(
  'RUN_ERR_WEBHOOKS_NOT_KEPT',
  'The stores keep no webhooks',
  404
)
/** There is no such message, it has another owner, or it was delivered. */
export const RUN_ERR_DELIVERY_NOT_FOUND = createError<[string]>(
  'RUN_ERR_DELIVERY_NOT_FOUND',
  'No message "%s" that was not delivered',
  404
)
/** Only a dead message can be sent again by hand. */
export const RUN_ERR_DELIVERY_NOT_DEAD = createError<[string]>(
  'RUN_ERR_DELIVERY_NOT_DEAD',
  'The message "%s" is still being sent',
  409
)

/** The named runnable cannot be called. */
export const VOICE_ERR_NOT_A_VOICE = createError<[kind: string, name: string]>(
  'VOICE_ERR_NOT_A_VOICE',
  'The %s "%s" is not a voice agent, so it cannot be called',
  400
)
/** An audio format that no call takes. */
export const VOICE_ERR_BAD_FORMAT = createError<[string]>(
  'VOICE_ERR_BAD_FORMAT',
  'Unsupported audio format: %s',
  400
)
/** A frame is not audio of the call's input format. */
export const VOICE_ERR_BAD_FRAME = createError<[string]>('VOICE_ERR_BAD_FRAME', 'Bad audio frame: %s', 400)
/** A frame has more than 65,536 bytes. */
export const VOICE_ERR_FRAME_TOO_LARGE = createError<[bytes: number]>(
  'VOICE_ERR_FRAME_TOO_LARGE',
  'The audio frame has %d bytes, at most 65536 are allowed',
  413
)
/** More than 10 seconds of audio came within 5 seconds; the frame is discarded. */
export const VOICE_ERR_TOO_FAST = createError(
  'VOICE_ERR_TOO_FAST',
  'The audio arrives faster than twice real time',
  429
)
/** The call does not keep up with its input; the input is discarded. */
export const VOICE_ERR_INPUT_FULL = createError(
  'VOICE_ERR_INPUT_FULL',
  'The call does not keep up with its input',
  503
)
/** A position names an answer that the call did not send, or sent long ago. */
export const VOICE_ERR_UNKNOWN_ITEM = createError<[string]>(
  'VOICE_ERR_UNKNOWN_ITEM',
  'No answer "%s" was sent',
  404
)
/** A position is beyond the audio that was sent. */
export const VOICE_ERR_BAD_POSITION = createError<[itemId: string, ms: number]>(
  'VOICE_ERR_BAD_POSITION',
  'Of the answer "%s" only %d ms were sent',
  400
)
/** `after` is not the position of an output of the call. */
export const VOICE_ERR_BAD_AFTER = createError<[last: number]>(
  'VOICE_ERR_BAD_AFTER',
  '"after" must be the position of an output, at most %d',
  400
)
/** The outputs after the position are no longer kept, so the call cannot be resumed without a gap. */
export const VOICE_ERR_OUTPUT_GONE = createError<[first: number]>(
  'VOICE_ERR_OUTPUT_GONE',
  'Outputs are kept from position %d on: resume without "after", or after a later one',
  410
)
/** The call has ended, or another process has it. */
export const VOICE_ERR_CALL_ENDED = createError<[runId: string]>(
  'VOICE_ERR_CALL_ENDED',
  'The call "%s" is not in progress here',
  410
)
