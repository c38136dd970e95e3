/** A call of a tool, with what came of it once it is there. */
export interface ToolOutcome {
  toolName: string
  args: unknown
  /** What the tool gave; undefined where it failed. */
  result?: unknown
  error?: string
}

/** A message of the user that is already answered. */
export interface Turn {
  user: string
  assistant: string
  outcomes: ToolOutcome[]
}

/** What a prompt says, without the forms of the protocol. */
export interface Conversation {
  /** Earlier turns, the oldest first. */
  turns: Turn[]
  /** The message to answer. */
  message: string
  /** Images, audio and files of the message, which this model cannot see. */
  files: number
  /** The tool calls that were made for this message so far. */
  outcomes: ToolOutcome[]
}

/** Finds the outcome of a call among those that were made. */
export function outcomeOf(
  outcomes: readonly ToolOutcome[],
  call: { toolName: string; args: unknown }
): ToolOutcome | undefined {
  const wanted = JSON.stringify(call.args)
  return outcomes.find((each) => each.toolName === call.toolName && JSON.stringify(each.args) === wanted)
}
