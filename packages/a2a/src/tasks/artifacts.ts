import type { RunResult } from '@svc/registry'
import type { Artifact, MessagePart } from '../model/message.ts'

/** The id of the artifact that holds the answer. */
export const ANSWER_ID = 'answer'

/** The artifacts of a result, complete or partial: the answer, then the result of each tool call. */
export function toArtifacts({ text, structured, toolCalls }: RunResult): Artifact[] {
  const parts: MessagePart[] = []
  if (text !== '') parts.push({ text })
  if (structured !== null) parts.push({ data: structured })
  const artifacts: Artifact[] = parts.length === 0 ? [] : [answerArtifact(parts)]
  toolCalls.forEach(({ toolName, toolCallId, result }, index) => {
    if (result !== undefined) artifacts.push(toolArtifact(index, toolName, toolCallId, result))
  })
  return artifacts
}

export function answerArtifact(parts: MessagePart[]): Artifact {
  return { artifactId: ANSWER_ID, parts }
}

/** The result of a tool call; `index` is its number in the run, from 0. */
export function toolArtifact(index: number, name: string, toolCallId: string, result: unknown): Artifact {
  const part: MessagePart = typeof result === 'string' ? { text: result } : { data: result }
  return { artifactId: `tool-${index + 1}`, name, parts: [part], metadata: { toolCallId } }
}
