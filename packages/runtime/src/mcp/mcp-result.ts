import type { ForeignCheck } from '../schemas/foreign-check.ts'
import { toolContent, type ToolContentPart } from '../tools/tool-content.ts'

interface McpContent {
  readonly type: string
  readonly text?: string
  readonly data?: string
  readonly mimeType?: string
  readonly uri?: string
  readonly resource?: {
    readonly uri: string
    readonly text?: string
    readonly blob?: string
    readonly mimeType?: string
  }
}

/**
 * Converts an MCP result to a tool result: all content if any is binary, else the structured content, else the text.
 * @throws an error with the server's text if the call failed, or if the structured content does not match its schema
 */
export function toToolResult(answer: object, schema?: ForeignCheck): unknown {
  const {
    content = [],
    structuredContent,
    isError
  } = answer as {
    content?: McpContent[]
    structuredContent?: unknown
    isError?: boolean
  }
  const parts = content.map(toPart)
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  if (isError === true) throw new Error(text.trim() || 'the tool failed')
  if (schema !== undefined) requireStructured(structuredContent, schema)
  if (parts.some((part) => part.type !== 'text')) return toolContent(parts)
  return structuredContent ?? text
}

function requireStructured(content: unknown, schema: ForeignCheck): void {
  const fault = content === undefined ? 'it is missing' : schema.faultOf(content)
  if (fault !== undefined)
    throw new Error(`the structured content of the result does not match its schema: ${fault}`)
}

function toPart({ type, text, data, mimeType, uri, resource }: McpContent): ToolContentPart {
  if ((type === 'image' || type === 'audio') && data !== undefined)
    return { type, mimeType: mimeType ?? 'application/octet-stream', data }
  if (type === 'resource' && resource?.blob !== undefined) {
    const { blob, mimeType: of = 'application/octet-stream' } = resource
    return { type: of.startsWith('image/') ? 'image' : 'file', mimeType: of, data: blob }
  }
  return { type: 'text', text: text ?? resource?.text ?? uri ?? '' }
}
