import { setTimeout as wait } from 'node:timers/promises'

/** How a call of a model for tests behaves, other than answering at once. */
export interface ToneCall {
  /** Milliseconds until it answers; of streamed speech, before each piece. */
  delay?: number
  /** Fails with this error. */
  rejects?: Error
  /** Never answers; only an abort ends it. */
  hangs?: boolean
}

/** The same for every call, or by the index of the call, from 0. */
export type ToneCalls<Call extends ToneCall> = Call | ((index: number) => Call | undefined)

/** Gives each call its behavior, in order. */
export function planCalls<Call extends ToneCall>(calls: ToneCalls<Call> | undefined): () => Partial<Call> {
  let index = 0
  return () => (typeof calls === 'function' ? calls(index++) : calls) ?? {}
}

/** Waits, fails or hangs as the call has to. */
export async function behave(
  { delay = 0, rejects, hangs = false }: ToneCall,
  signal: AbortSignal | undefined
): Promise<void> {
  signal?.throwIfAborted()
  if (hangs) await wait(2 ** 31 - 1, undefined, { ...(signal && { signal }), ref: false })
  if (delay > 0) await wait(delay, undefined, signal && { signal })
  if (rejects !== undefined) throw rejects
}
