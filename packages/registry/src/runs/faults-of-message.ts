import { Value } from '@sinclair/typebox/value'
import {
  DataContentPartSchema,
  FileContentPartSchema,
  TextContentPartSchema,
  UrlContentPartSchema
} from '../contract/content-part.ts'
import type { InputFault } from './input-fault.ts'

const NO_MESSAGE: InputFault = {
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

/** Whether a text says nothing. */
export function isBlank(text: string): boolean {
  return !/\S/.test(text)
}

/** What is wrong with a message: of a list, which part and which field of it. @param fits whether the schema takes it */
export function faultsOfMessage(input: unknown, fits: boolean): InputFault[] {
  if (!Array.isArray(input) || input.length === 0) return [NO_MESSAGE]
  if (fits) {
    const odd = input.findIndex((part) => typeof part.data === 'string' && part.data.length % 4 === 1)
    if (odd >= 0) return [{ path: `input/${odd}/data`, message: 'must be base64' }]
    return input.every((part) => part.type === 'text' && isBlank(part.text)) ? [NO_MESSAGE] : []
  }
  const faults: InputFault[] = []
  for (const [index, part] of input.entries()) {
    for (const { path, message } of faultsOfPart(part))
      if (faults.push({ path: `input/${index}${path}`, message }) === MAX_FAULTS) return faults
  }
  return faults.length > 0 ? faults : [NO_MESSAGE]
}

function faultsOfPart(part: unknown): InputFault[] {
  if (typeof part !== 'object' || part === null) return [{ path: '', message: NO_PART }]
  const schema = schemaOf(part as Record<string, unknown>)
  if (schema === undefined) return [{ path: '', message: NO_PART }]
  const faults = new Map<string, InputFault>()
  for (const { path, message } of Value.Errors(schema, part)) {
    const at = path.length > 100 ? `${path.slice(0, 100)}…` : path
    if (!faults.has(at)) faults.set(at, { path: at, message: MESSAGES[at] ?? message })
    if (faults.size === MAX_FAULTS) break
  }
  return [...faults.values()]
}

function schemaOf(part: Record<string, unknown>) {
  if (part['type'] === 'text') return TextContentPartSchema
  if (!['image', 'audio', 'file'].includes(String(part['type']))) return undefined
  if (Object.hasOwn(part, 'data')) return DataContentPartSchema
  if (Object.hasOwn(part, 'url')) return UrlContentPartSchema
  return Object.hasOwn(part, 'file') ? FileContentPartSchema : undefined
}
