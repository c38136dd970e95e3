/** A block of content of a result. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource'
      readonly resource: { readonly uri: string; readonly mimeType: string; readonly text: string }
    }
  | {
      readonly type: 'resource_link'
      readonly uri: string
      readonly name: string
      readonly mimeType: string
      readonly size?: number
    }

/** The result of `tools/call`. */
export interface ToolResult {
  readonly content: readonly ContentBlock[]
  readonly structuredContent?: unknown
  readonly isError?: true
  readonly _meta: Readonly<Record<string, unknown>>
}

/** A tool, as `tools/list` has it. */
export interface Tool {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: object
  readonly outputSchema?: object
  readonly icons?: readonly { readonly src: string }[]
  readonly annotations: { readonly title?: string; readonly openWorldHint: boolean }
}

/** A resource, as `resources/list` has it. */
export interface Resource {
  readonly uri: string
  readonly name: string
  readonly title: string
  readonly description: string
  readonly mimeType: string
}

/** What `resources/read` has read. */
export interface ResourceContents {
  readonly contents: readonly {
    readonly uri: string
    readonly mimeType: string
    readonly text?: string
    readonly blob?: string
  }[]
}

/** A prompt, as `prompts/list` has it. */
export interface Prompt {
  readonly name: string
  readonly description?: string
  readonly arguments: readonly {
    readonly name: string
    readonly description: string
    readonly required: boolean
  }[]
}

/** A prompt, as `prompts/get` has it. */
export interface PromptMessages {
  readonly description?: string
  readonly messages: readonly { readonly role: 'user'; readonly content: ContentBlock }[]
}
