import type {
  Authorize,
  ClientTool,
  Envelope,
  NewWebhook,
  OnDisconnect,
  Principal,
  ProviderKey,
  Redact,
  RunLog,
  RunMetadata,
  SessionMessage,
  StartKey,
  ToolChoice,
  WhenBusy
} from '@svc/contract'

/** What a caller may give with an input. */
export interface CallerOptions {
  /** Texts on the run's record, in its `start` part, events and spans: at most 16, keys of 1–64 and values of at most 512 characters. */
  metadata?: RunMetadata | undefined
  /**
   * A conversation that the caller keeps, oldest first, at most 1,000 messages. Then no session is loaded or saved. If it ends with
   * a user message, with the results of tool calls or with the beginning of an answer, the input may be undefined. Not with `sessionId`, and not for workflows.
   */
  messages?: readonly SessionMessage[] | undefined
  /** Instructions after the agent's own, at most 65,536 characters. Not for workflows. */
  instructions?: string | undefined
  /** Tools that the caller serves, at most 64; `answerInput` gives the results. Not for workflows. */
  tools?: readonly ClientTool[] | undefined
  /**
   * Whether the model calls tools, of the caller or of the agent. `required` and `{ toolName }` apply to the first step; `required` to
   * each step until a tool of the caller is called, if it serves any. Default: that of the agent. Not for workflows.
   */
  toolChoice?: ToolChoice | undefined
  /** Up to 4 texts that end an answer: the first one, and all after it, is left out. Not for workflows. */
  stop?: readonly string[] | undefined
  /** Tokens of a prompt, at least 1,000, over which it is compacted; only lowers the threshold of the agent or team. Not for workflows. */
  compactAt?: number | undefined
}

/** Options of the start of a run. */
export interface StartOptions extends CallerOptions {
  /** The id of the run's registry; default: that of the registry which has the runnable. */
  registry?: string | undefined
  /** The surface that starts the run; its policy applies again when the run is resumed after a restart. */
  surface?: string | undefined
  /** Default: a new one. */
  sessionId?: string | undefined
  /**
   * The run of this session after whose turn it continues; null: at the beginning. Its own turn begins a branch there, unless that is the
   * newest turn. Default: the newest turn when this run begins. Only with `sessionId`, and for runnables whose runs take turns.
   */
  afterTurn?: string | null | undefined
  /** Separates the sessions and memories of callers without credentials. */
  userId?: string | undefined
  /** The caller; default anonymous. Its `sub` owns the run. */
  principal?: Principal | undefined
  /**
   * What happens to the run if its client disconnects; default `continue`. With `cancel` the surface cancels it, and a crash of the
   * service ends the run of an agent or a team, as if its client had left.
   */
  onDisconnect?: OnDisconnect | undefined
  /**
   * Whether the run waits in the queue until a process with its runnable begins it, with limits and fairness between owners (the option
   * `queue` of the engine); default: what its runnable says, else false. It must be possible for another process to resume it.
   */
  queue?: boolean | undefined
  /**
   * What happens while another run has the turn of the session; default: what the runnable says, else `queue`. Only for runnables whose
   * runs take turns.
   */
  whenBusy?: WhenBusy | undefined
  /**
   * Compacts the history of the session, and says nothing: without an input, only with `sessionId`, for runnables that `compacts` says it of.
   * `whenBusy` is `queue`, the default, or `reject`.
   */
  compact?: true | undefined
  /**
   * True if `instructions` and `tools` are kept for all turns of the session, so that the run under way has them: with `whenBusy: 'steer'` a
   * message joins it without them, and one that cannot join a run, such as one with files, waits for its turn.
   */
  ofSession?: boolean | undefined
  /** Where the run is reported, besides the webhooks of its owner. */
  webhook?: NewWebhook | undefined
  log?: RunLog | undefined
  /** Data that accompanied the input. */
  envelope?: Envelope | undefined
  /** Makes the start idempotent: the same registry, owner and key return the run that was started first. */
  startKey?: StartKey | undefined
  /** The caller's own keys for model providers; a string is wrapped. */
  apiKey?: ((provider?: string) => ProviderKey | string | undefined) | undefined
  /** Removes those keys from the run's parts, result and error, and from everything it stores. */
  redact?: Redact | undefined
  /** The app's policy, for runnables that call other runnables. */
  authorize?: Authorize | undefined
  /** Called each time the run asks for an input, such as an approval; the store may record it a moment later. */
  onInputRequest?: (() => void) | undefined
}
