import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'

const MAX_BYTES = 2_048
const HEAD = 1_024
const TAIL = 512

/** A result of a tool without its middle, as a text, if its JSON or its text has more than 2,048 bytes; else the result itself. */
export function cutResult(result: unknown): unknown {
  const text = typeof result === 'string' ? result : JSON.stringify(result)
  // Few texts come near the bound, and no character has more than 3 bytes a code unit.
  if (text === undefined || text.length * 3 <= MAX_BYTES) return result
  const bytes = Buffer.from(text)
  return bytes.length <= MAX_BYTES ? result : cutBytes(bytes)
}

function cutBytes(bytes: Buffer): string {
  let [head, tail] = [HEAD, bytes.length - TAIL]
  // A character is left out as a whole.
  while (isWithin(bytes[head]!)) head--
  while (isWithin(bytes[tail]!)) tail++
  const left = (tail - head).toLocaleString('en-US')
  return `${bytes.toString('utf8', 0, head)}[… ${left} bytes left out …]${bytes.toString('utf8', tail)}`
}

function isWithin(byte: number): boolean {
  return (byte & 0xc0) === 0x80
}

/** The result in a prompt without its middle; files become texts that name them. The output itself if it is short, or an error. */
export function cutOutput(output: LanguageModelV4ToolResultOutput): LanguageModelV4ToolResultOutput {
  switch (output.type) {
    case 'text':
    case 'json': {
      const cut = cutResult(output.value)
      return cut === output.value ? output : { type: 'text', value: cut as string }
    }
    case 'content': {
      const value = output.value.map(cutPart)
      return value.every((part, at) => part === output.value[at]) ? output : { ...output, value }
    }
    default:
      return output
  }
}

type ContentPart = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number]

function cutPart(part: ContentPart): ContentPart {
  if (part.type === 'text') {
    const text = cutResult(part.text)
    return text === part.text ? part : { ...part, text: text as string }
  }
  if (part.type !== 'file') return part
  const { filename, mediaType } = part
  return {
    type: 'text',
    text: `[${filename === undefined ? 'file' : `file ${filename}`}, ${mediaType}, shown earlier]`
  }
}
