import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { RUN_ERR_SCRIPT_OVER } from '../errors.ts'

/** A tool call of a scripted turn; `input` is the raw text where it is to be no JSON. */
export interface ScriptedCall {
  toolName: string
  args?: unknown
  input?: string
  /** Default `call-1`, `call-2`, … in the order of the script. */
  toolCallId?: string
}

/** What a scripted model does in one call, in this order. */
export interface ScriptedTurn {
  /** Rejects the call with this. */
  rejects?: unknown
  reasoning?: string | readonly string[]
  /** A list is given chunk by chunk. */
  text?: string | readonly string[]
  toolCalls?: readonly ScriptedCall[]
  /** Default: 10 and as many as there are chunks. */
  usage?: { promptTokens: number; completionTokens: number }
  /** Default: `tool-calls` when there are any, else `stop`. */
  finishReason?: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'interrupted' | 'other'
  /** Milliseconds before each part. */
  delay?: number
  /** Gives an `error` part with this instead of a `finish`. */
  errorPart?: unknown
  /** Breaks the stream with this instead of a `finish`. */
  breaks?: unknown
  /** `call`: the call never gives a stream. `stream`: the stream never ends. Both ignore that the run ends. */
  hangs?: 'call' | 'stream'
  /** `false`: the stream just ends. */
  finish?: boolean
  /** Gives these instead of all the above. */
  parts?: readonly LanguageModelV4StreamPart[]
}

/**
 * What a scripted model plays: a text or a turn for every call, a list with one for each, or a function of the call.
 * A call past the end of a list is rejected with RUN_ERR_SCRIPT_OVER.
 */
export type Script =
  | string
  | ScriptedTurn
  | readonly (string | ScriptedTurn)[]
  | ((options: LanguageModelV4CallOptions, index: number) => string | ScriptedTurn)

/** The turn for each call of a model that plays the script. */
export function toTurns(script: Script): (call: LanguageModelV4CallOptions, index: number) => ScriptedTurn {
  if (typeof script === 'function') return (call, index) => toTurn(script(call, index))
  if (!Array.isArray(script)) {
    const turn = toTurn(script as string | ScriptedTurn)
    return () => turn
  }
  const turns = (script as readonly (string | ScriptedTurn)[]).map(toTurn)
  return (_call, index) => {
    const turn = turns[index]
    if (turn === undefined) throw new RUN_ERR_SCRIPT_OVER(turns.length)
    return turn
  }
}

function toTurn(turn: string | ScriptedTurn): ScriptedTurn {
  return typeof turn === 'string' ? { text: turn } : turn
}
