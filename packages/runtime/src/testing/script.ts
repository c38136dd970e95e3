import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { RUN_ERR_SCRIPT_OVER } from '../errors.ts'

/** A tool call of a scripted turn. */
export interface ScriptedCall {
  toolName: string
  args?: unknown
  /** Raw text instead of `args`, for arguments that are not JSON. */
  input?: string
  /** Default `call-1`, `call-2`, … in the order of the script. */
  toolCallId?: string
}

/** One call of a scripted model. The fields apply in this order. */
export interface ScriptedTurn {
  /** Error that rejects the call. */
  rejects?: unknown
  reasoning?: string | readonly string[]
  /** A list is streamed chunk by chunk. */
  text?: string | readonly string[]
  toolCalls?: readonly ScriptedCall[]
  /** Default: 10 prompt tokens, and one completion token per chunk. */
  usage?: { promptTokens: number; completionTokens: number }
  /** Default: `tool-calls` if there are any, else `stop`. */
  finishReason?: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'interrupted' | 'other'
  /** Milliseconds before each part. */
  delay?: number
  /** Error of an `error` part instead of a `finish`. */
  errorPart?: unknown
  /** Error that breaks the stream instead of a `finish`. */
  breaks?: unknown
  /** `call`: the call never resolves. `stream`: the stream never ends. Both ignore the signal. */
  hangs?: 'call' | 'stream'
  /** `false`: the stream ends without a `finish`. */
  finish?: boolean
  /** Raw stream parts, instead of all the above. */
  parts?: readonly LanguageModelV4StreamPart[]
}

/**
 * The script of a model: one text or turn for all calls, a list with one per call, or a function of the call. Calls beyond the
 * end of a list reject with RUN_ERR_SCRIPT_OVER.
 */
export type Script =
  | string
  | ScriptedTurn
  | readonly (string | ScriptedTurn)[]
  | ((options: LanguageModelV4CallOptions, index: number) => string | ScriptedTurn)

/** Returns the turn of each call. */
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
