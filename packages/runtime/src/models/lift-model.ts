import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV2File,
  LanguageModelV2StreamPart,
  LanguageModelV2Usage,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3File,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4File,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4Usage
} from '@ai-sdk/provider'
import type { AnswerContent } from './prompt-content.ts'

/** A language model of the AI SDK: `@ai-sdk/openai`, `@ai-sdk/anthropic`, Ollama, vLLM and all others. */
export type Model = LanguageModelV4 | LanguageModelV3 | LanguageModelV2

type ContentOutput = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>
type FinishV2 = Extract<LanguageModelV2StreamPart, { type: 'finish' }>
type FinishV3 = Extract<LanguageModelV3StreamPart, { type: 'finish' }>
type FinishV4 = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

/** Converts a model of an earlier specification to the current one, for `doStream` only. */
export function liftModel(model: Model): LanguageModelV4 {
  return model.specificationVersion === 'v4' ? model : new LiftedModel(model)
}

class LiftedModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4'
  readonly provider: string
  readonly modelId: string
  readonly #model: LanguageModelV3 | LanguageModelV2

  constructor(model: LanguageModelV3 | LanguageModelV2) {
    this.#model = model
    this.provider = model.provider
    this.modelId = model.modelId
  }

  get supportedUrls(): LanguageModelV4['supportedUrls'] {
    return this.#model.supportedUrls
  }

  async doGenerate(): Promise<never> {
    throw new Error('a lifted model only streams')
  }

  doStream(options: LanguageModelV4CallOptions) {
    const model = this.#model
    return model.specificationVersion === 'v2' ? streamV2(model, options) : streamV3(model, options)
  }
}

async function streamV2(model: LanguageModelV2, options: LanguageModelV4CallOptions) {
  const lowered = {
    ...lowerOptions(options, 'media'),
    ...(options.tools && { tools: options.tools.map(lowerTool) })
  }
  const { stream } = await model.doStream(lowered as LanguageModelV2CallOptions)
  return { stream: liftStream(stream, liftFinishV2) }
}

async function streamV3(model: LanguageModelV3, options: LanguageModelV4CallOptions) {
  const { stream } = await model.doStream(lowerOptions(options, 'file-data') as LanguageModelV3CallOptions)
  return { stream: liftStream(stream, liftFinishV3) }
}

// Of the parts that the loop reads, only `finish` and `file` differ.
function liftStream<F extends { type: 'finish' }>(
  stream: ReadableStream<F | { type: string }>,
  liftFinish: (finish: F) => FinishV4
) {
  return stream.pipeThrough(
    new TransformStream<F | { type: string }, LanguageModelV4StreamPart>({
      transform(part, controller) {
        if (part.type === 'finish') controller.enqueue(liftFinish(part as F))
        else if (part.type === 'file') controller.enqueue(liftFile(part as LanguageModelV3File))
        else controller.enqueue(part as LanguageModelV4StreamPart)
      }
    })
  )
}

function liftFile({ data, ...file }: LanguageModelV3File | LanguageModelV2File): LanguageModelV4File {
  return { ...file, data: { type: 'data', data } }
}

// Not every model keeps to its specification and reports a usage.
function liftFinishV2({ finishReason, usage: given, providerMetadata }: FinishV2): FinishV4 {
  const usage: Partial<LanguageModelV2Usage> = given ?? {}
  const truncated =
    finishReason === 'unknown' && usage.inputTokens === undefined && usage.outputTokens === undefined
  return {
    type: 'finish',
    finishReason: {
      unified: truncated ? 'interrupted' : finishReason === 'unknown' ? 'other' : finishReason,
      raw: undefined
    },
    usage: liftUsage(usage, providerMetadata)
  }
}

// V3 has no reason for a truncated stream: its adapters report `other`, without usage.
function liftFinishV3({ finishReason: { unified, raw }, usage }: FinishV3): FinishV4 {
  const truncated =
    unified === 'other' &&
    raw === undefined &&
    (usage as FinishV3['usage'] | undefined)?.inputTokens?.total === undefined &&
    (usage as FinishV3['usage'] | undefined)?.outputTokens?.total === undefined
  return { type: 'finish', finishReason: { unified: truncated ? 'interrupted' : unified, raw }, usage }
}

// V2 has no count of tokens written to a cache; Anthropic's adapter reports it beside the usage.
function liftUsage(
  { inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Partial<LanguageModelV2Usage>,
  metadata: FinishV2['providerMetadata']
): LanguageModelV4Usage {
  const written = metadata?.['anthropic']?.['cacheCreationInputTokens']
  return {
    inputTokens: {
      total: inputTokens,
      noCache: undefined,
      cacheRead: cachedInputTokens,
      cacheWrite: typeof written === 'number' ? written : undefined
    },
    outputTokens: { total: outputTokens, text: undefined, reasoning: reasoningTokens }
  }
}

// Earlier versions have plain data or a URL for files, other types for files in results, and no option `reasoning`.
function lowerOptions(
  { reasoning: _, prompt, ...options }: LanguageModelV4CallOptions,
  resultType: 'media' | 'file-data'
) {
  return { ...options, prompt: prompt.map((message) => lowerMessage(message, resultType)) }
}

function lowerMessage(message: LanguageModelV4Message, resultType: 'media' | 'file-data') {
  if (message.role === 'user')
    return {
      ...message,
      content: message.content.map((part) => (part.type === 'file' ? lowerFile(part) : part))
    }
  if (message.role === 'assistant') return { ...message, content: message.content.flatMap(lowerAnswerPart) }
  if (message.role !== 'tool') return message
  return {
    ...message,
    content: message.content.map((part) =>
      part.type === 'tool-result' && part.output.type === 'content'
        ? { ...part, output: { type: 'content', value: part.output.value.map(lowerResult) } }
        : part
    )
  }

  function lowerResult(part: ContentOutput['value'][number]) {
    if (part.type !== 'file' || part.data.type !== 'data') return part
    return { type: resultType, mediaType: part.mediaType, data: part.data.data }
  }
}

// Earlier versions have neither files of a reasoning nor custom content.
function lowerAnswerPart(part: AnswerContent[number]) {
  if (part.type === 'reasoning-file' || part.type === 'custom') return []
  return [part.type === 'file' ? lowerFile(part) : part]
}

// V2 has another type for the tools of providers.
function lowerTool(tool: NonNullable<LanguageModelV4CallOptions['tools']>[number]) {
  return tool.type === 'provider' ? { ...tool, type: 'provider-defined' } : tool
}

function lowerFile(part: LanguageModelV4FilePart) {
  return {
    ...part,
    data: part.data.type === 'url' ? part.data.url : part.data.type === 'data' ? part.data.data : ''
  }
}
