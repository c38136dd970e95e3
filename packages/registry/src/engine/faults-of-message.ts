import {
  DataContentPartSchema,
  FileContentPartSchema,
  findFaults,
  isBlank,
  TextContentPartSchema,
  UrlContentPartSchema,
  type Fault
} from '@svc/contract'

const NO_MESSAGE: Fault = {
  path: 'input',
  message: 'must be a text that is not blank, or a list of content parts'
}
const NO_PART = 'must be a content part: text, or image, audio or file with one of data and url'
const MAX_FAULTS = 20

const MESSAGES: Readonly<Record<string, string>> = {
  '/mimeType': 'must be a media type, such as image/png',
  '/data': 'must be base64',
  '/text': 'must be a text',
  '/url': 'must be a URL'
}

/** What is wrong with a message: of a list, which part and which field of it. @param fits whether the schema takes it */
export function faultsOfMessage(input: unknown, fits: boolean): Fault[] {
  if (!Array.isArray(input) || input.length === 0) return [NO_MESSAGE]
  if (fits) {
    const odd = input.findIndex((part) => typeof part.data === 'string' && part.data.length % 4 === 1)
    if (odd >= 0) return [{ path: `input/${odd}/data`, message: 'must be base64' }]
    return input.every((part) => part.type === 'text' && isBlank(part.text)) ? [NO_MESSAGE] : []
  }
  const faults: Fault[] = []
  for (const [index, part] of input.entries()) {
    faults.push(...faultsOfPart(part, `input/${index}`, MAX_FAULTS - faults.length))
    if (faults.length === MAX_FAULTS) break
  }
  return faults.length > 0 ? faults : [NO_MESSAGE]
}

function faultsOfPart(part: unknown, path: string, limit: number): Fault[] {
  const schema =
    typeof part === 'object' && part !== null ? schemaOf(part as Record<string, unknown>) : undefined
  if (schema === undefined) return [{ path, message: NO_PART }]
  return findFaults(schema, part, { root: path, limit }).map((fault) => {
    const message = MESSAGES[fault.path.slice(path.length)]
    return message === undefined ? fault : { path: fault.path, message }
  })
}

function schemaOf(part: Record<string, unknown>) {
  if (part['type'] === 'text') return TextContentPartSchema
  if (!['image', 'audio', 'file'].includes(String(part['type']))) return undefined
  if (Object.hasOwn(part, 'data')) return DataContentPartSchema
  if (Object.hasOwn(part, 'url')) return UrlContentPartSchema
  return Object.hasOwn(part, 'file') ? FileContentPartSchema : undefined
}
