import type { NumberedPart } from '@svc/registry'
import { followRun } from '../agents/follow-run.ts'
import { Random } from '../random.ts'
import { approve, type Acknowledged } from './clients.ts'
import { followBySocket, toSocketForm } from './follow-socket.ts'
import type { Reach } from './reach.ts'

/** What one reader of a run received. */
export interface Reading {
  /** What its wire shows of a part, given the JSON of that in the log. */
  readonly formOf: (json: string) => string
  readonly received: readonly string[]
  /** When it began, and when each came, in milliseconds by the clock of the machine. */
  readonly times: readonly number[]
}

/** A run with its readers, from its start to its end. */
export interface WatchedRun {
  readonly name: string
  readonly runId: string
  /** What it must answer. */
  readonly answer: string
  readonly readings: readonly Reading[]
  /** Why a reader did not reach the end. */
  readonly faults: readonly string[]
}

// Milliseconds without a part after which a reader connects to another node.
const PATIENCE = 4_000

/** What an event stream shows of a part: its JSON. */
export function asItIs(json: string): string {
  return json
}

/** What clients have. */
export interface Client {
  readonly reach: Reach
  readonly random: Random
  /** Called with each part that a reader of a run receives. */
  readonly received: () => void
}

/** Reads a run on the node that took it and on another one, as events of a stream and of a socket; approves what it asks for on any node. */
export async function watchRun(
  { reach, random, received: count }: Client,
  name: string,
  answer: string,
  { runId, url }: Acknowledged
): Promise<WatchedRun> {
  const faults: string[] = []
  const approving: Promise<unknown>[] = []
  const fault = (err: Error) => faults.push(err.message)
  const approveOnce = (part: NumberedPart) => {
    if (part.type === 'tool.approval.request') approving.push(approve(reach, part.approvalId).catch(fault))
  }
  const read = async (formOf: Reading['formOf'], follow: (onPart: (form: string) => void) => unknown) => {
    const received: string[] = []
    const times = [Date.now()]
    const onPart = (form: string) => {
      received.push(form)
      times.push(Date.now())
      count()
    }
    await Promise.resolve(follow(onPart)).catch(fault)
    return { formOf, received, times }
  }
  const options = () => ({ random: new Random(random.below(1e9)), patience: PATIENCE })
  const stream = (from: Reach, onEach: (part: NumberedPart) => void) =>
    read(asItIs, (onPart) =>
      followRun(from, runId, {
        ...options(),
        onPart(part, json) {
          onPart(json)
          onEach(part)
        }
      })
    )
  const socket = (from: Reach) =>
    read(toSocketForm, (onPart) => followBySocket(from, runId, { ...options(), onPart }))
  const here = reach.prefer(url)
  const readings = await Promise.all(
    random.chance(0.5)
      ? [stream(here, approveOnce), socket(reach)]
      : [stream(reach, approveOnce), socket(here), stream(reach, () => {})]
  )
  await Promise.all(approving)
  return { name, runId, answer, readings, faults }
}
