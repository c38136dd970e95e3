import type {
  LanguageModelV4File,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4ReasoningFile,
  LanguageModelV4ReasoningFilePart
} from '@ai-sdk/provider'

/** The content of a model's answer, as the next prompt has it. */
export type AnswerContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']

/** Arguments for a prompt, where providers require an object. */
export function toObject(args: unknown): object {
  return typeof args === 'object' && args !== null && !Array.isArray(args) ? args : {}
}

/** A tool's name for a prompt: providers refuse other characters, even in a name that the model invented. */
export function toSafeName(toolName: string): string {
  return /^[\w-]{1,64}$/.test(toolName) ? toolName : toolName.replace(/[^\w-]/g, '_').slice(0, 64) || '_'
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

/** True for a part that providers refuse: an empty text. A reasoning without text may still hold a signature. */
export function isEmpty(part: AnswerContent[number]): boolean {
  if (part.type === 'text') return part.text === ''
  return part.type === 'reasoning' && part.text === '' && part.providerOptions === undefined
}

function toBase64(data: string | Uint8Array): string {
  if (typeof data === 'string') return data
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
}
