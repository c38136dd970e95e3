import type {
  LanguageModelV4File,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ReasoningFile,
  LanguageModelV4ReasoningFilePart,
  SharedV4ProviderMetadata
} from '@ai-sdk/provider'
import { isBlank } from '@svc/contract'

/** The content of a model's answer, as the next prompt has it. */
export type AnswerContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']

/** Arguments for a prompt, where providers require an object. */
export function toObject(args: unknown): object {
  return typeof args === 'object' && args !== null && !Array.isArray(args) ? args : {}
}

/** A file of a model for the next prompt; its bytes are base64, so that they can be recorded as JSON. */
export function toPromptFile({
  type,
  mediaType,
  data,
  providerMetadata
}: LanguageModelV4File | LanguageModelV4ReasoningFile):
  | LanguageModelV4FilePart
  | LanguageModelV4ReasoningFilePart {
  return {
    type,
    mediaType,
    data: data.type === 'url' ? data : { type: 'data', data: toBase64(data.data) },
    ...(providerMetadata && { providerOptions: providerMetadata })
  }
}

/** A prompt that was recorded as JSON, which has the texts of URLs only. */
export function restorePrompt(prompt: LanguageModelV4Prompt): LanguageModelV4Message[] {
  return prompt.map((message) =>
    message.role === 'user' || message.role === 'assistant'
      ? ({ ...message, content: (message.content as AnswerContent).map(restoreUrl) } as typeof message)
      : message
  )
}

/** A part that was recorded as JSON, with its URL. */
export function restoreUrl(part: AnswerContent[number]): AnswerContent[number] {
  if (!('data' in part) || part.data.type !== 'url') return part
  return { ...part, data: { ...part.data, url: new URL(part.data.url) } }
}

/** True for a part that providers refuse: a blank text. A reasoning without text may still hold a signature. */
export function isEmpty(part: AnswerContent[number]): boolean {
  if (part.type === 'text') return isBlank(part.text)
  return part.type === 'reasoning' && part.text === '' && part.providerOptions === undefined
}

function toBase64(data: string | Uint8Array): string {
  if (typeof data === 'string') return data
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
}

/** Adds what the provider expects back with a part. */
export function withOptions<P extends object>(part: P, metadata: SharedV4ProviderMetadata | undefined) {
  return metadata === undefined ? part : { ...part, providerOptions: metadata }
}
