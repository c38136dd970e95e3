import { ToolCallList, type CallPlace, type PartOf } from '@svc/contract'
import type { Artifact, MessagePart } from '../model/message.ts'

interface ShownCall extends CallPlace {
  readonly artifactId: string
  readonly toolName: string
  isShown: boolean
}

/**
 * Ids of the artifacts of tool calls: the path of the member and the id of the call, with a number if that is used again. They are the same
 * whether void calls have been counted and dropped, or were never counted.
 */
export class ToolArtifactIds {
  readonly #uses = new Map<string, number>()

  next(place: CallPlace): string {
    const key = keyOf(place)
    const uses = (this.#uses.get(key) ?? 0) + 1
    this.#uses.set(key, uses)
    return uses === 1 ? `tool-${key}` : `tool-${key}#${uses}`
  }

  /** Takes back the last id of a call. */
  drop(place: CallPlace): void {
    const key = keyOf(place)
    this.#uses.set(key, this.#uses.get(key)! - 1)
  }
}

/** The artifacts of the tool calls of a log, as its parts are added. */
export class ToolArtifacts {
  readonly #calls = new ToolCallList<ShownCall>()
  readonly #ids = new ToolArtifactIds()

  call(part: PartOf<'tool.call'>): void {
    const { toolCallId, toolName, source } = part
    const artifactId = this.#ids.next(part)
    this.#calls.add(part, { toolCallId, source, artifactId, toolName, isShown: false })
  }

  /** The artifact of a result; undefined if its call is void. */
  result(part: PartOf<'tool.result'>): Artifact | undefined {
    const call = this.#calls.find(part)
    if (call === undefined) return undefined
    call.isShown = true
    return toolArtifact(call.artifactId, part, part.result)
  }

  /** A step begins. If it is repeated, returns empty artifacts that replace those of its void attempt. */
  begin(part: PartOf<'step.start'>): Artifact[] {
    const isVoid = this.#calls.begin(part)
    for (const call of isVoid) this.#ids.drop(call)
    return isVoid.filter(({ isShown }) => isShown).map(voidArtifact)
  }

  /** A member or a step has ended, so that its next execution voids nothing of this one. */
  finish(part: PartOf<'finish'>): void {
    this.#calls.finish(part)
  }
}

/** The result of a tool call as an artifact. */
export function toolArtifact(
  artifactId: string,
  { toolName: name, toolCallId }: { readonly toolName: string; readonly toolCallId: string },
  result: unknown
): Artifact {
  const part: MessagePart = typeof result === 'string' ? { text: result } : { data: result }
  return { artifactId, name, parts: [part], metadata: { toolCallId } }
}

// The protocol allows no artifact without parts, and does not remove any.
function voidArtifact({ artifactId, toolName: name, toolCallId }: ShownCall): Artifact {
  return { artifactId, name, parts: [{ text: '' }], metadata: { toolCallId, void: true } }
}

function keyOf({ toolCallId, source = [] }: CallPlace): string {
  return [...source, toolCallId].join('/')
}
