const PREFIX = 'resp_'
const FORM = /^resp_(.+?)(?:_(\d{1,10}))?$/

/** A place in the log of a run where a response begins. */
export interface ResponsePlace {
  readonly runId: string
  /** The part before it; 0 for the first response of the run. */
  readonly after: number
}

/** The id of the response that begins after a part of a run. */
export function toResponseId({ runId, after }: ResponsePlace): string {
  return after === 0 ? PREFIX + runId : `${PREFIX}${runId}_${after}`
}

/** Reads the id of a response; undefined if it is none. */
export function readResponseId(id: string): ResponsePlace | undefined {
  const [, runId, after = '0'] = FORM.exec(id) ?? []
  if (runId === undefined) return undefined
  const place = { runId, after: Number(after) }
  return toResponseId(place) === id ? place : undefined
}
