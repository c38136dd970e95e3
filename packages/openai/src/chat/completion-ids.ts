/** The ids of Chat Completions, all made of the log's, so that each reader gets the same. */

/** The id of the completion that begins after a part of a run; 0 for its first one. */
export function toCompletionId(runId: string, after: number): string {
  return after === 0 ? `chatcmpl-${runId}` : `chatcmpl-${runId}_${after}`
}

const INPUT = /^(.+)\.(\d{1,9})$/
const CALL = /^call_(.+)_(\d{1,9})$/

/**
 * The id of a tool call as clients get it: that of the input which the run waits for, since providers may use an id of a call again. It
 * has letters, digits and `_` only, and fewer than 40 characters, as all providers require of the histories that clients send.
 * @param isEnd true if the run ends with the call: the id then leads to no run that waits
 */
export function toCallId(inputId: string, isEnd = false): string {
  const [, runId, number] = INPUT.exec(inputId) ?? []
  return runId === undefined ? inputId : `${isEnd ? 'last' : 'call'}_${runId}_${number}`
}

/** The input that an id of a tool call is made of; undefined if it was not made here, or its run has ended with it. */
export function readCallId(callId: string): string | undefined {
  const [, runId, number] = CALL.exec(callId) ?? []
  return runId === undefined ? undefined : `${runId}.${number}`
}
